// Colour to grey by integer weights that sum to 256; three-element vectors and a conversion.
__kernel void grey(__global const uchar4 *rgba, __global uchar *out) {
    size_t i = get_global_id(0);
    uint3 c = convert_uint3(rgba[i].xyz);
    uint3 w = c * (uint3)(77u, 150u, 29u);
    out[i] = (uchar)((w.x + w.y + w.z) >> 8);
}
