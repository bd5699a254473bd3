// differential: tame fixed=at: coordinates are to stay near the image
// run: whole grid=6 image=r32float:5x3:[1,2,3,4,5,10,20,30,40,50,-1,-2,-4,-8,-16] s=clamp_to_edge|nearest|unnormalized at=[0,0,4,2,-1,1,5,0,2,3,-100,100] out=[0;24] -> out=[1,0,0,1,-16,0,0,1,10,0,0,1,5,0,0,1,-4,0,0,1,-1,0,0,1]
// run: whole grid=6 image=rgba8unorm:2x2:[0,51,102,255,255,0,204,153,102,102,51,0,204,255,0,102] s=clamp_to_edge|nearest|unnormalized at=[0,0,4,2,-1,1,5,0,2,3,-100,100] out=[0;24] -> out=[0,0.2,0.4,1,0.8,1,0,0.4,0.4,0.4,0.2,0,1,0,0.8,0.6,0.8,1,0,0.4,0.4,0.4,0.2,0]
// run: whole grid=6 image=rgba8unorm:2x2:[0,51,102,255,255,0,204,153,102,102,51,0,204,255,0,102] s=clamp|nearest|unnormalized at=[0,0,4,2,-1,1,5,0,2,3,-100,100] out=[0;24] -> out=[0,0.2,0.4,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]
// run: differences grid=5 image=rgba16sint:2x1:[-1,2,-32768,32767,5,6,7,8] at=[0,0,2,1,-1,0,1,1,3,1] out=[0;20] -> out=[-1,2,-32768,32767,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]
// run: nearest_counts grid=5 image=rgba8uint:3x2:[0,37,74,111,148,185,222,3,40,77,114,151,188,225,6,43,80,117,154,191,228,9,46,83] at=[-0.5,0.5,0.999,0,1,1.75,2.5,1,3,0] out=[0;20] -> out=[0,37,74,111,0,37,74,111,80,117,154,191,228,9,46,83,40,77,114,151]
__kernel void whole(__read_only image2d_t image, sampler_t s, __global const int2* at, __global float4* out) {
  size_t i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
}

__constant sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void differences(__read_only image2d_t image, __global const int2* at, __global int4* out) {
  size_t i = get_global_id(0);
  out[i] = read_imagei(image, border, at[i]);
}

__kernel void nearest_counts(__read_only image2d_t image, __global const float2* at, __global uint4* out) {
  const sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  size_t i = get_global_id(0);
  out[i] = read_imageui(image, edge, at[i]);
}
