// Four-element vectors: arithmetic, swizzles, a vector argument.
__kernel void mix4(__global const int4 *x, __global int4 *y, int4 bias) {
    size_t i = get_global_id(0);
    int4 v = x[i];
    int4 r = v * (int4)(3) + v.wzyx - bias;
    r.xy += v.zw;
    y[i] = (int4)(r.hi, r.lo);
}
