// run: gather grid=4 image=rgba8unorm:2x2:[255,1,2,3,0,4,5,6,51,7,8,9,255,0,0,0] spare=r8sint:1x1:[3] out=[9;4] size=[0,0] -> out=[1,0,0.2,1] size=[2,2]
// run: gather grid=4 image=r32float:4x1:[0.5,-2,65504,0] spare=r8uint:1x1:[3] out=[9;4] size=[0,0] -> out=[0.5,-2,65504,0] size=[4,1]
// run: gather grid=4 image=r16sint:1x4:[-32768,32767,-1,0] spare=r32float:1x1:[3] out=[9;4] size=[0,0] -> out=[-32768,32767,-1,0] size=[1,4]
// run: gather grid=4 image=rgba8uint:4x1:[255,1,1,1,128,2,2,2,0,3,3,3,1,4,4,4] spare=r8unorm:2x2:[0;4] out=[9;4] size=[0,0] -> out=[255,128,0,1] size=[4,1]
// run: through grid=1 image=rgba32float:2x1:[-0.5,1,2,3,0,0,0,0] out=[9;8] -> out=[-0.5,1,2,3,0,0,0,0]
// run: through grid=1 image=rgba32uint:2x1:[0,0,0,0,4294967295,1,2,3] out=[9;8] -> out=[0,0,0,0,4294967295,1,2,3]
// run: paint grid=2 image=rgba8unorm:2x1:[9;8] -> image=[255,0,0,255,255,0,0,255]
// run: paint grid=2 image=rgba16sint:2x1:[9;8] -> image=[-7,1,2,3,-7,1,2,3]
// run: paint grid=2 image=r32uint:2x1:[9;2] -> image=[4000000000,4000000000]
// run: layered grid=2 image=r8unorm:1x2:[255,51] rows=r32sint:3:[-5,6,7] volume=r16uint:1x1x2:[8,65535] out=[9;2] sizes=[0;3] -> out=[4,65541.2] sizes=[1,2,2]
// run: layered grid=2 image=r8sint:1x2:[-128,127] rows=r32float:3:[-5.5,6.25,7] volume=r32float:1x1x2:[8,0.5] out=[9;2] sizes=[0;3] -> out=[-125.5,133.75] sizes=[1,2,2]
// Images of any format, of which each kernel looks at the format.
int is_signed(int type) { return type >= CLK_SIGNED_INT8 && type <= CLK_SIGNED_INT32; }

int is_unsigned(int type) { return type >= CLK_UNSIGNED_INT8 && type <= CLK_UNSIGNED_INT32; }

float value(read_only image2d_t image, int2 at) {
  int type = get_image_channel_data_type(image);
  if (is_signed(type)) return read_imagei(image, at).x;
  if (is_unsigned(type)) return read_imageui(image, at).x;
  return read_imagef(image, at).x;
}

int width(read_only image2d_t image) { return get_image_width(image); }

int nothing(read_only image2d_t image, int n) { return n; }

kernel void gather(read_only image2d_t image, read_only image2d_t spare, global float* out, global int2* size) {
  int i = get_global_id(0);
  out[i] = value(image, (int2)(i % width(image), i / width(image))) + nothing(spare, 0);
  *size = get_image_dim(image);
}

uint4 counts(read_only image2d_t image, int x) { return read_imageui(image, (int2)(x, 0)); }

float4 through_float(read_only image2d_t a, read_only image2d_t b) { return read_imagef(b, (int2)(get_image_width(a) - 2, 0)); }

// Each texture is read whatever the format, and what does not fit is not taken.
kernel void through(read_only image2d_t image, global float4* out) {
  float4 number = through_float(image, image);
  uint4 count = counts(image, 1);
  int is_count = is_unsigned(get_image_channel_data_type(image));
  out[0] = is_count ? (float4)(0) : number;
  out[1] = is_count ? convert_float4(count) : (float4)(0);
}

kernel void paint(write_only image2d_t image) {
  int2 at = (int2)(get_global_id(0), 0);
  int type = get_image_channel_data_type(image);
  if (is_signed(type)) write_imagei(image, at, (int4)(-7, 1, 2, 3));
  else if (is_unsigned(type)) write_imageui(image, at, (uint4)(4000000000u, 1, 2, 3));
  else write_imagef(image, at, (float4)(1, 0, 0, 1));
}

kernel void layered(read_only image1d_array_t image, read_only image1d_buffer_t rows, read_only image3d_t volume,
                    global float* out, global int* sizes) {
  int i = get_global_id(0);
  int is_int = is_signed(get_image_channel_data_type(image));
  float sum = is_int ? read_imagei(image, (int2)(0, i)).x : read_imagef(image, (int2)(0, i)).x;
  // Here one of the two is of integers.
  sum += is_int ? read_imagef(rows, i).x : read_imagei(rows, i).x;
  sum += is_unsigned(get_image_channel_data_type(volume)) ? read_imageui(volume, (int4)(0, 0, i, 0)).x
                                                          : read_imagef(volume, (int4)(0, 0, i, 0)).x;
  out[i] = sum;
  sizes[0] = get_image_width(image);
  sizes[1] = (int)get_image_array_size(image);
  sizes[2] = get_image_depth(volume);
}
