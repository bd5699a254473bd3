// differential: given: filtered sums come out in the order of each side, and coordinates that are no numbers are undefined
// run: line grid=4 image=rgba32float:4:[1,0.5,2,-0.5,4,1.5,8,2.5,-1,3,0.25,0.125,16,32,64,5] s=clamp|linear|unnormalized x=[-0.75,0.5,1.25,3.875] i=[0,3,2,1] out=[0;16] -> out=[1,0.5,2,-0.5,17,32.5,66,4.5,2.25,4.25,6.75,1.875,14,21.5,48,5.625]
// run: texels grid=3 in=rgba32uint:3:[1,2,3,4,5,6,7,8,9,10,11,70] out=r32sint:4:[7;4] -> out=[1,5,67,7]
// run: layers grid=6 image=r8unorm:3x2:[0,51,102,153,204,255] at=[0.5,0.4,2.75,0.25,1.5,0.6,1.25,1.25,-1,7,1.5,-3] out=[0;24] copy=rgba8unorm:3x2:[0;24] -> out=[0,0,0,1,0.4,0,0,1,0.8,0,0,1,0.75,0,0,1,0.6,0,0,1,0.2,0,0,1] copy=[0,0,0,255,51,0,0,255,102,0,0,255,153,0,0,255,204,0,0,255,255,0,0,255]
kernel void line(read_only image1d_t image, sampler_t s, global const float* x, global const int* i, global float4* out) {
  size_t n = get_global_id(0);
  out[n] = read_imagef(image, s, x[n]) + read_imagef(image, i[n]);
}

kernel void texels(read_only image1d_buffer_t in, write_only image1d_buffer_t out) {
  int i = get_global_id(0);
  write_imagei(out, i, (int4)((int)read_imageui(in, i).w - 3, 9, 9, 9));
}

kernel void layers(read_only image1d_array_t image, global const float2* at, global float4* out, write_only image1d_array_t copy) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
  int i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
  int2 place = (int2)(i % 3, i / 3);
  write_imagef(copy, place, read_imagef(image, place));
}
