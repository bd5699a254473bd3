// run: format grid=1 a=rgba8unorm:1x1:[0;4] b=rgba16uint:1:[0;4] c=r32sint:1x1x1:[0] out=[0;10] -> out=[4277,4306,4277,4315,4272,4313,4277,4306,1,-38]
// run: format grid=1 a=bgra8unorm:1x1:[0;4] b=rgba16uint:1:[0;4] c=r32sint:1x1x1:[0] out=[0;10] -> out=[4278,4306,4277,4315,4272,4313,4278,4306,0,-38]
// run: format grid=1 a=rg16snorm:1x1:[0;2] b=rgba16uint:1:[0;4] c=r32sint:1x1x1:[0] out=[0;10] -> out=[4274,4305,4277,4315,4272,4313,4274,4305,0,-38]
// run: format grid=1 a=r32float:1x1:[0;1] b=rgba16uint:1:[0;4] c=r32sint:1x1x1:[0] out=[0;10] -> out=[4272,4318,4277,4315,4272,4313,4272,4318,0,-38]
// run: format grid=1 a=rg16float:1x1:[0;2] b=rgba16uint:1:[0;4] c=r32sint:1x1x1:[0] out=[0;10] -> out=[4274,4317,4277,4315,4272,4313,4274,4317,0,-38]
int order(read_only image2d_t image) { return get_image_channel_order(image); }

int both(read_only image2d_t image, read_only image1d_buffer_t other) {
  return order(image) == CLK_RGBA && get_image_channel_data_type(image) == CLK_UNORM_INT8 && get_image_width(other) == 1;
}

int difference(read_only image1d_buffer_t image) { return get_image_channel_order(image) - get_image_channel_data_type(image); }

kernel void format(read_only image2d_t a, read_only image1d_buffer_t b, write_only image3d_t c, global int* out) {
  out[0] = get_image_channel_order(a);
  out[1] = get_image_channel_data_type(a);
  out[2] = get_image_channel_order(b);
  out[3] = get_image_channel_data_type(b);
  out[4] = get_image_channel_order(c);
  out[5] = get_image_channel_data_type(c);
  write_imagei(c, (int4)(0), (int4)(0));
  out[6] = order(a);
  out[7] = get_image_channel_data_type(a) + (int)read_imageui(b, 0).x;
  out[8] = both(a, b);
  out[9] = difference(b);
}
