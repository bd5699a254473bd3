// Integer builtins.
__kernel void bits(__global const uint *x, __global uint *y) {
    size_t i = get_global_id(0);
    uint v = x[i];
    uint r = popcount(v) + 100u * clz(v);
    r ^= rotate(v, 7u);
    r += mul_hi(v, 0x9E3779B9u);
    r ^= (uint)abs_diff((int)v, 12345);
    r += add_sat(v, 0x80000000u) ^ max(v, ~v);
    y[i] = r;
}
