// run: shapes grid=1 a=r8unorm:7:[0;7] c=r8unorm:5x2:[0;10] d=r8unorm:4x3:[0;12] e=r8unorm:3x2x4:[0;24] f=r8unorm:2x3x5:[0;30] g=r16float:6x4:[0;24] out=[0;24] -> out=[7,0,5,4,3,4,3,2,5,2,3,2,4,3,4,3,3,2,2,3,5,0,6,4]
kernel void shapes(read_only image1d_t a, write_only image1d_array_t c, read_only image2d_t d, read_only image2d_array_t e,
                   read_only image3d_t f, write_only image2d_t g, global int* out) {
  out[0] = get_image_width(a);
  out[2] = get_image_width(c);
  out[3] = get_image_width(d);
  out[4] = get_image_width(e);
  out[5] = (int)get_image_array_size(e);
  out[6] = get_image_height(d);
  out[7] = get_image_height(e);
  out[8] = get_image_depth(f);
  out[9] = get_image_width(f);
  out[10] = get_image_height(f);
  out[11] = get_image_array_size(c);
  vstore2(get_image_dim(d), 6, out);
  out[14] = get_image_dim(d).x;
  out[15] = get_image_dim(d).y;
  vstore2(get_image_dim(e), 8, out);
  vstore4(get_image_dim(f), 0, out + 18);
  vstore2(get_image_dim(g), 11, out);
}
