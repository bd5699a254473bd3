uint4 counts(read_only image2d_t image, int x) { return read_imageui(image, (int2)(x, 0)); }
int4 through(read_only image2d_t a, read_only image2d_t b) { return read_imagei(b, (int2)(0)) + convert_int4(counts(a, 1)); }
__kernel void once(read_only image2d_t image, __global float4* out) {
  out[0] = read_imagef(image, (int2)(0, 0)) + convert_float4(read_imagei(image, (int2)(0, 0)));
}
__kernel void twice(read_only image2d_t image, __global int4* out) { out[0] = through(image, image); }
__kernel void both_ways(read_write image2d_t image) { write_imageui(image, (int2)(0), convert_uint4(read_imageh(image, (int2)(0)))); }
