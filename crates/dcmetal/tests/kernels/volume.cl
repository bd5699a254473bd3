// All three dimensions, and 64-bit arithmetic.
__kernel void volume(__global long *out, long scale) {
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    size_t w = get_global_size(0), h = get_global_size(1);
    out[(z * h + y) * w + x] = scale * (long)(x + 1) - (long)(y * 1000) + ((long)z << 40);
}
