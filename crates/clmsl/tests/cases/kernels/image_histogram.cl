// run: histogram grid=8,4 group=4,4 image=r8uint:8x4:[174,91,123,4,20,126,59,184,79,12,165,143,60,117,244,250,181,134,227,83,229,149,23,142,168,227,109,145,130,14,1,13] bins=[0;16] -> bins=[5,2,0,2,1,2,1,3,4,2,3,2,0,0,3,2]
__kernel void histogram(read_only image2d_t image, __global uint* bins) {
  __local uint counts[16];
  const uint n = get_local_id(1) * get_local_size(0) + get_local_id(0);
  if (n < 16) counts[n] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (all(at < get_image_dim(image))) {
    atomic_inc(&counts[read_imageui(image, at).x >> 4]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (n < 16) atomic_add(&bins[n], counts[n]);
}
