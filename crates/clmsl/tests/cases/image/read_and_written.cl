// options: -cl-std=CL2.0
// run: fenced grid=4 group=4 image=r32uint:4x1:[1,2,3,4] out=[0;4] -> image=[6,7,8,9] out=[906,807,708,609]
// run: age grid=4 image=r32float:4:[1,2,4,8] out=[0;4] -> image=[3,4,6,10] out=[3,4,6,10]
// run: age_layers grid=2 image=r32uint:2x2:[1,2,4,8] -> image=[1,2,5,10]
// run: age_slices grid=2 image=r32sint:2x1x2:[1,-2,4,8] -> image=[1,-2,2,12]
// run: age_any grid=2 image=r32float:2x1:[0.5,2] -> image=[1.5,3]
// run: age_any grid=2 image=r32sint:2x1:[-1,2] -> image=[1,4]
// run: reversed grid=2,2,2 group=2,2,2 image=r32uint:2x2x2:[1,2,3,4,5,6,7,8] -> image=[8,7,6,5,4,3,2,1]
kernel void age(read_write image1d_t image, global float* out) {
  int i = get_global_id(0);
  write_imagef(image, i, read_imagef(image, i) + 1.0f);
  write_imagef(image, i, read_imagef(image, i) + 1.0f);
  out[i] = read_imagef(image, i).x;
}

kernel void age_layers(read_write image1d_array_t image) {
  int2 at = (int2)(get_global_id(0), 1);
  write_imageui(image, at, read_imageui(image, at) + read_imageui(image, at * (int2)(1, 0)));
}

void add(read_write image2d_array_t image, int4 at, int n) { write_imagei(image, at, read_imagei(image, at) + n); }

kernel void age_slices(read_write image2d_array_t image) {
  int i = get_global_id(0);
  add(image, (int4)(i, 0, 1, 0), i == 0 ? -3 : 3);
  add(image, (int4)(i, 0, 1, 0), 1);
}

kernel void age_any(read_write image2d_t image) {
  int2 at = (int2)(get_global_id(0), 0);
  if (get_image_channel_data_type(image) == CLK_FLOAT) write_imagef(image, at, read_imagef(image, at) + 1.0f);
  else write_imagei(image, at, read_imagei(image, at) + 2);
}

kernel void reversed(read_write image3d_t image) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  uint4 value = read_imageui(image, (int4)(1) - at);
  work_group_barrier(CLK_IMAGE_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  write_imageui(image, at, value);
}

// What a work-item wrote it reads again behind a fence (OpenCL C 3.0 §6.15.15), others of its group behind a barrier too.
kernel void fenced(read_write image2d_t image, global uint* out) {
  int i = get_global_id(0);
  write_imageui(image, (int2)(i, 0), read_imageui(image, (int2)(i, 0)) + 5);
  atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);
  out[i] = read_imageui(image, (int2)(i, 0)).x;
  atomic_work_item_fence(CLK_IMAGE_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);
  work_group_barrier(CLK_IMAGE_MEM_FENCE);
  out[i] += 100 * read_imageui(image, (int2)(3 - i, 0)).x;
}
