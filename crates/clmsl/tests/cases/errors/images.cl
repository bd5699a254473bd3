__constant sampler_t s = 0;
__kernel void k(read_only image2d_t in, write_only image2d_t out) {
    write_imagef(out, (int2)(0, 0), read_imagef(in, s, (int2)(0, 0)));
}
