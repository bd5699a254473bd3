// run: k grid=1 y=1 z=0 n=-2 out=[0;24] -> out=[nan,nan,nan,nan,1,1,1,1,nan,-inf,nan,inf,inf,-inf,-0,0,inf,0.25,-inf,inf,-0.5,1,3.1415927,0]
// OpenCL C 3.0 7.5.1 and C99 Annex F: what functions make of zeros, infinities and NaN.
__kernel void k(__global float* out, float y, float z, int n)
{
    float inf = y / z, nan = z * inf;
    out[0] = powr(z, z);
    out[1] = powr(inf, z);
    out[2] = powr(y, inf);
    out[3] = powr(-y, y);
    out[4] = pow(nan, z);
    out[5] = pow(y, nan);
    out[6] = pow(-y, -inf);
    out[7] = pown(nan, n + 2);
    out[8] = log1p(-inf);
    out[9] = log1p(-y);
    out[10] = rootn(-8.0f, n);
    out[11] = rootn(-z, n);
    out[12] = tanpi(0.5f * y);
    out[13] = tanpi(-0.5f * y);
    out[14] = tanpi(y);
    out[15] = cospi(1.5f * y);
    out[16] = tgamma(z);
    out[17] = pown(n, n);
    out[18] = tgamma(-z);
    out[19] = lgamma(-y);
    out[20] = atan2pi(-inf, z);
    out[21] = atan2pi(z, -y);
    out[22] = atan2(z, -z);
    out[23] = sinpi(y);
}
