__kernel void k(read_only image2d_msaa_t in, __global int* n) { n[0] = 0; }
__kernel void a(read_only image2d_array_msaa_depth_t in, __global int* n) { n[0] = get_image_num_samples(in); }
