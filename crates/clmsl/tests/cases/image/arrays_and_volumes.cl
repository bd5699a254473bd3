// differential: given: filtered sums come out in the order of each side, and coordinates that are no numbers are undefined
// run: layers grid=6 image=rgba16float:2x2x3:[0,0.25,0.5,0.75,1,1.25,1.5,1.75,2,2.25,2.5,2.75,3,3.25,3.5,3.75,4,4.25,4.5,4.75,5,5.25,5.5,5.75,6,6.25,6.5,6.75,7,7.25,7.5,7.75,8,8.25,8.5,8.75,9,9.25,9.5,9.75,10,10.25,10.5,10.75,11,11.25,11.5,11.75] at=[0.5,0.5,0.375,77,0.5,0.5,1.625,77,1,1,1.25,77,1.25,0.75,-4,77,0.75,1.5,0.75,77,1,0.25,9,77] out=[0;24] whole=[0;24] -> out=[0,0.25,0.5,0.75,8,8.25,8.5,8.75,5.5,5.75,6,6.25,1.25,1.5,1.75,2,6.25,6.5,6.75,7,6.375,6.5625,6.75,6.9375] whole=[2,2.25,2.5,2.75,2,2.25,2.5,2.75,3,3.25,3.5,3.75,7,7.25,7.5,7.75,11,11.25,11.5,11.75,11,11.25,11.5,11.75]
// run: volume grid=6 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=clamp_to_edge|nearest|unnormalized at=[0.5,0.5,0.5,-3,1.25,1,1,-3,2.75,0.25,1.75,-3,-1.5,1,1,-3,1.5,1.25,0.125,-3,3,2,2,-3] out=[0;24] -> out=[0,0,0,1,10,0,0,1,8,0,0,1,9,0,0,1,4,0,0,1,11,0,0,1]
// run: volume grid=6 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=clamp_to_edge|linear|unnormalized at=[0.5,0.5,0.5,-3,1.25,1,1,-3,2.75,0.25,1.75,-3,-1.5,1,1,-3,1.5,1.25,0.125,-3,3,2,2,-3] out=[0;24] -> out=[0,0,0,1,5.25,0,0,1,8,0,0,1,4.5,0,0,1,3.25,0,0,1,11,0,0,1]
// run: volume grid=3 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=repeat|nearest|normalized at=[-0.2,0.3,0.9,0,0.45,0.7,-0.6,0,1.35,2.2,0.1,0] out=[0;12] -> out=[8,0,0,1,4,0,0,1,1,0,0,1]
// run: volume grid=3 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=repeat|linear|normalized at=[-0.2,0.3,0.9,0,0.45,0.7,-0.6,0,1.35,2.2,0.1,0] out=[0;12] -> out=[6.4000006,0,0,1,5.3499994,0,0,1,2.6499999,0,0,1]
// run: volume grid=3 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=mirrored_repeat|nearest|normalized at=[-0.2,0.3,0.9,0,0.45,0.7,-0.6,0,1.35,2.2,0.1,0] out=[0;12] -> out=[6,0,0,1,10,0,0,1,1,0,0,1]
// run: volume grid=3 image=r32float:3x2x2:[0,1,2,3,4,5,6,7,8,9,10,11] s=mirrored_repeat|linear|normalized at=[-0.2,0.3,0.9,0,0.45,0.7,-0.6,0,1.35,2.2,0.1,0] out=[0;12] -> out=[6.4,0,0,1,7.75,0,0,1,1.4499999,0,0,1]
// run: turn grid=3,2,2 in=r32sint:3x2x2:[0,10,20,30,40,50,60,70,80,90,100,110] out=r32sint:3x2x2:[0;12] -> out=[110,100,90,80,70,60,50,40,30,20,10,0]
// run: stack grid=2,2,2 out=rgba8uint:2x2x2:[9;32] -> out=[0,255,0,1,1,255,0,1,2,255,0,1,3,255,0,1,4,255,0,1,5,255,0,1,6,255,0,1,7,255,0,1]
kernel void layers(read_only image2d_array_t image, global const float4* at, global float4* out, global float4* whole) {
  const sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
  const sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int i = get_global_id(0);
  out[i] = read_imagef(image, border, at[i]);
  whole[i] = read_imagef(image, edge, (int4)(i - 1, 1, i - 2, 99));
}

kernel void volume(read_only image3d_t image, sampler_t s, global const float4* at, global float4* out) {
  int i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
}

kernel void turn(read_only image3d_t in, write_only image3d_t out) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 5);
  int4 last = get_image_dim(in) - 1;
  write_imagei(out, at, read_imagei(in, (int4)(last.xyz - at.xyz, 7)));
}

kernel void stack(write_only image2d_array_t out) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  uint n = at.x + get_image_width(out) * (at.y + get_image_height(out) * at.z);
  if (at.z < get_image_array_size(out)) {
    write_imageui(out, at, (uint4)(n, 300, 0, 1));
  }
}
