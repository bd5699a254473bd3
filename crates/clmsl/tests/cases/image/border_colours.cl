// differential: tame fixed=at: coordinates are to stay near the image
// run: whole grid=4 image=r32float:5x3:[1,2,3,4,5,10,20,30,40,50,-1,-2,-4,-8,-16] s=clamp|nearest|unnormalized at=[-1,0,1,0,1,3,7,0] out=[0;16] -> out=[0,0,0,1,2,0,0,1,0,0,0,1,0,0,0,1]
// run: whole grid=4 image=rg16unorm:2x1:[65535,0,13107,52428] s=clamp|nearest|unnormalized at=[-1,0,1,0,1,3,7,0] out=[0;16] -> out=[0,0,0,1,0.2,0.8,0,1,0,0,0,1,0,0,0,1]
// run: filtered grid=5 image=r32float:5x3:[1,2,3,4,5,10,20,30,40,50,-1,-2,-4,-8,-16] s=clamp|nearest|unnormalized at=[-2.25,1.5,-0.25,0.75,2.5,1.5,4.75,2.75,9.5,-4] out=[0;20] -> out=[0,0,0,1,0,0,0,1,30,0,0,1,-16,0,0,1,0,0,0,1]
// run: filtered grid=5 image=r32float:5x3:[1,2,3,4,5,10,20,30,40,50,-1,-2,-4,-8,-16] s=clamp|linear|unnormalized at=[-2.25,1.5,-0.25,0.75,2.5,1.5,4.75,2.75,9.5,-4] out=[0;20] -> out=[0,0,0,1,0.8125,0,0,1,30,0,0,1,-9,0,0,1,0,0,0,1]
// run: counts grid=5 image=r32uint:3x2:[1,2,3,4000000000,5,6] at=[0,0,2,1,-1,0,1,1,3,1] out=[0;20] -> out=[1,0,0,1,6,0,0,1,0,0,0,1,5,0,0,1,0,0,0,1]
// run: of_any_format grid=2 image=rgba32float:2x1:[1,2,3,4,5,6,7,8] at=[1,0.5,5,0.5] s=clamp|linear|unnormalized out=[9;8] -> out=[3,4,5,6,0,0,0,0]
// run: of_any_format grid=2 image=rgba16uint:2x1:[1,2,3,4,5,6,7,8] at=[1,0.5,5,0.5] s=clamp|nearest|unnormalized out=[9;8] -> out=[5,6,7,8,0,0,0,0]
// run: of_any_format grid=2 image=rg32uint:2x1:[1,2,5,4000000000] at=[1,0.5,5,0.5] s=clamp|nearest|unnormalized out=[9;8] -> out=[5,4000000000,0,1,0,0,0,1]
__kernel void whole(__read_only image2d_t image, sampler_t s, __global const int2* at, __global float4* out) {
  size_t i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
}

__kernel void filtered(__read_only image2d_t image, sampler_t s, __global const float2* at, __global float4* out) {
  size_t i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
}

__constant sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void counts(__read_only image2d_t image, __global const int2* at, __global uint4* out) {
  size_t i = get_global_id(0);
  out[i] = read_imageui(image, border, at[i]);
}

kernel void of_any_format(read_only image2d_t image, sampler_t s, global const float2* at, global float4* out) {
  int i = get_global_id(0);
  if (get_image_channel_data_type(image) == CLK_FLOAT) out[i] = read_imagef(image, s, at[i]);
  else out[i] = convert_float4(read_imageui(image, s, at[i]));
}
