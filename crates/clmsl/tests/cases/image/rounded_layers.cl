// differential: tame fixed=at: coordinates are to stay near the image
// run: select_layer grid=6 image=rgba32float:1x1x3:[0,1,2,3,4,5,6,7,8,9,10,11] line=rgba32float:1x3:[0,1,2,3,4,5,6,7,8,9,10,11] at=[-0.5,0.5,1.5,2.5,-0.75,1.75] out=[0;24] others=[0;24] -> out=[0,1,2,3,0,1,2,3,8,9,10,11,8,9,10,11,0,1,2,3,8,9,10,11] others=[0,1,2,3,0,1,2,3,8,9,10,11,8,9,10,11,0,1,2,3,8,9,10,11]
constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void select_layer(read_only image2d_array_t image, read_only image1d_array_t line, global const float* at, global float4* out,
                         global float4* others) {
  int i = get_global_id(0);
  out[i] = read_imagef(image, s, (float4)(0.5f, 0.5f, at[i], 0.0f));
  others[i] = read_imagef(line, s, (float2)(0.5f, at[i]));
}
