// run: shadows grid=4 map=r32float:3x2:[0,0.25,0.5,0.75,1,0.125] s=clamp|linear|unnormalized at=[0.5,0.5,1.25,1,-3,0.5,2.75,1.5] layers=r32float:1x1x2:[0.5,8] out=[0;4] copy=r32float:4x1:[9;4] -> out=[0.5,1.3125,8.5,8.21875] copy=[0,1.125,0,0.1875]
// run: order grid=1 map=r32float:1x1:[0] out=[0,0] -> out=[4285,4318]
kernel void shadows(read_only image2d_depth_t map, sampler_t s, global const float2* at, read_only image2d_array_depth_t layers,
                    global float* out, write_only image2d_depth_t copy) {
  int i = get_global_id(0);
  float depth = read_imagef(map, s, at[i]);
  out[i] = depth + read_imagef(map, (int2)(i < 3 ? i : 2, i < 3 ? 0 : 1)) + read_imagef(layers, (int4)(0, 0, i / 2, 0));
  write_imagef(copy, (int2)(i, 0), 2.0f * depth);
}

kernel void order(read_only image2d_depth_t map, global int* out) {
  out[0] = get_image_channel_order(map);
  out[1] = get_image_channel_data_type(map);
}
