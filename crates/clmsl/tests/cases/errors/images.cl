typedef struct { image2d_t member; } S;
image2d_t returned(int a);
sampler_t returned_sampler(int a);
float pointed(image2d_t *p);
float many(sampler_t list[2]);
read_only int odd(int a);
int helper(write_only image2d_t image) { return get_image_width(image); }
constant sampler_t both = CLK_FILTER_NEAREST | CLK_FILTER_LINEAR;
constant sampler_t unknown = 0x40;
__kernel void k(write_only read_only image2d_t in) {
}
__kernel void accesses(read_only image2d_t in, write_only image2d_t out, read_write image2d_t both_ways, read_only image1d_t line,
                       read_only image1d_buffer_t texels, sampler_t s, __global float4* v, __global int* n) {
  image2d_t copy = in;
  const sampler_t variable = n[0];
  int2 at = (int2)(0, 0);
  write_imagef(in, at, v[0]);
  v[0] = read_imagef(out, at);
  v[0] = read_imagef(both_ways, s, at);
  v[0] = read_imagef(texels, s, 0);
  v[0] = read_imagef(in, at, s);
  v[0] = read_imagef(in, (float2)(0.0f));
  v[0] = read_imagef(in, s, (uint2)(0));
  v[0] = read_imagef(in, 0xff, at);
  v[0] = read_imagef(in, s, (float2)(0.0f), 1.0f);
  write_imagef(out, at, 0, v[0]);
  write_imagei(out, at, v[0]);
  n[0] = get_image_height(line) + get_image_depth(in) + get_image_array_size(in) + get_image_dim(line).x;
  n[1] = helper(in);
  n[2] = get_image_width(n[0] ? in : in);
  n[3] = get_image_width(n);
  s = CLK_FILTER_NEAREST;
  in = in;
  n[4] = &s == 0;
}
__kernel void levels(read_only image2d_t in, __global int* n) { n[0] = get_image_num_mip_levels(in); }
__kernel void depths(read_only image2d_depth_t in, __global int* n) { n[0] = read_imagei(in, (int2)(0)).x; }
