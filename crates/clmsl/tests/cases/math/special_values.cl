// run: special grid=1 out=[0,0,0,0,0,0,0,0,0,0,0,0,0] n=[0,0,0,0,0,0] -> out=[inf,-inf,nan,3.4028235e+38,1.1920929e-07,3.1415927,nan,12,1e-07,0.5,300,inf,3] n=[15,2147483647,-2147483648,1,2,5]
__kernel void special(__global float* out, __global int* n)
{
    out[0] = INFINITY; out[1] = -INFINITY; out[2] = NAN; out[3] = FLT_MAX; out[4] = FLT_EPSILON; out[5] = M_PI_F;
    out[6] = nan(5u); out[7] = 0x1.8p3f; out[8] = 1e-7f; out[9] = .5; out[10] = 3.e2;
    out[11] = MAXFLOAT * 2; out[12] = fmin(NAN, 1.0f) + fmax(2.0f, NAN);
    n[0] = isnan(out[2]) + 2 * isinf(out[1]) + 4 * isfinite(out[3]) + 8 * isnormal(1.0f);
    n[1] = INT_MAX; n[2] = INT_MIN; n[3] = UINT_MAX == 4294967295u; n[4] = isgreater(1.0f, NAN) + isunordered(1.0f, NAN) * 2;
    n[5] = isequal(2.0f, 2.0f) + (NAN == NAN) * 2 + islessequal(1.0f, 2.0f) * 4;
}
