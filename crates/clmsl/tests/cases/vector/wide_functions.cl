// run: functions grid=1 f=[0.5,1.25,-2.75,3,0.1,-0.3,7.5,100.25,-1,0,2,0.75,12.5,-8,4,0.25] i=[0,1,-1,2147483647,-2147483648,5,100,-77,3,-4,65536,9,-65537,31,12345678,-2] out=[0;144] whole=[0;24] -> out=[1.7294255,3.9489846,-0.081660986,100.39112,0.09983342,0.45447978,8.938,-0.027282864,-0.34147102,2.75,1.0092974,8.181639,0.9336781,1.0106418,11.743197,4.247404,-0.75,-0.75,0.55,1,0.25,-0.5,15.5,100,-0.25,3,1.9,-1.25,13.5,-1.75,2,-1.75,1.625,4.75,1.825,301.75,1,0.775,-59,26.0625,0.5,1,1.2,6.625,-11.5,-15,51,2,2.375,4.375,-2.525,55.625,1.15,-0.07500005,8.25,151.5,-1.25,-0.375,4.05,5.875,19.25,-4,13.25,3.375,0.5,0.25,0.25,0,0.1,0.7,0.5,0.25,0,1,-3,3,0,-1,7,100,-0,0,0,0.75,0.5,-0,0,0.25,-1,0,2,0,12,-8,4,0,0.5,0.625,-0.6875,0.75,0.8,-0.6,0.9375,0.7832031,-0.5,0,0.5,0.75,0.78125,-0.5,0.5,0.5,1.5437005,5.139717,-2.0364804,22.44225,0.4866589,0.60943294,118.207436,22886.707,0,0,13.259921,2.2210603,358.5708,-62,49.587402,0.81746054,3.5,8.25,-3.35,204.5,0.22799999,-0.29999998,24,201.75,-0.99999994,2.75,5.1,16.59375,27,-7.9999995,30,8.40625] whole=[29,-268435459,65488,2147483391,-1073709055,-2147483585,10838457,-66,4,1048325,-491508,1073152013,1073709055,2621307,58595499,-56472505,197,198;4,197,198,198]
__kernel void functions(__global const float16* f, __global const int16* i, __global float16* out, __global int8* whole)
{
    float16 x = f[0], y = x.s13579bdf02468ace;
    out[0] = sin(x) + fabs(y);
    out[1] = fmax(x, 0.25f) - fmin(y, (float16)(2));
    out[2] = fma(x, y, (float16)(1));
    out[3] = clamp(x, -1.0f, y + 200.0f) + mix(x, y, 0.5f) + step(0.0f, x);
    float8 below;
    out[4] = (float16)(fract(x.lo, &below), below);
    out[5].lo = modf(x.hi, (__global float8*)&out[5] + 1);
    int16 power;
    out[6] = frexp(x, &power);
    out[7] = ldexp(x, power) + pown(x, 2) + rootn(fabs(x), 3);
    out[8] = bitselect(x, y, (float16)(as_float(0x7fffffff))) + select(x, y, isless(x, y)) + nextafter(x, y) + smoothstep(0.0f, 1.0f, x);
    int8 n = i[0].lo, m = i[0].hi;
    whole[0] = add_sat(n, m) ^ mad_hi(n, m, n) ^ rotate(n, m) ^ as_int8(abs(n)) ^ clz(m) ^ popcount(n);
    whole[1] = convert_int8_sat(upsample(n, as_uint8(m)) >> 13) + hadd(n, m) + max(n, m.s0) - mul24(n & 0xffff, m & 0xff) + power.lo;
    whole[2] = (isfinite(x.lo) & signbit(x.hi)) + islessgreater(x.lo, x.hi) + isordered(x.lo, y.lo) + (any(isnan(x)) ? 100 : all(isfinite(x)) ? 200 : 300);
}

// run: copies grid=4 group=4 in=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49] l=local:64 out=[0;49] -> out=[0,2,4,6,8,10,12,14,16,18,19,20,21,22,23,24,25,1,3,5,7,9,11,13,15,17,19,20,21,22,23,24,25,0;8,30,31,32,33,34,35,36,37]
__kernel void copies(__global const uchar* in, __local uchar16* l, __global uchar* out)
{
    size_t i = get_local_id(0);
    event_t event = async_work_group_copy(l, (__global const uchar16*)in, 3, 0);
    wait_group_events(1, &event);
    prefetch((__global const uchar16*)in, 2);
    if (i == 3) {
        uchar8 mine = vload8(2, in + 1);
        vstore16((uchar16)(l[0].odd, mine), 0, out + 1);
        vstore8(vload16(1, (__local uchar*)l + 5).hi, 4, out + 9);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    event = async_work_group_strided_copy(l, (__global const uchar16*)out, 1, 2, 0);
    wait_group_events(1, &event);
    if (i == 0)
        vstore16(l[0] + (uchar)1, 0, out + 17);
}
// differential: tame: PoCL's sine of a vector is wrong for tiny numbers beside huge ones
