// Images of one to three dimensions, with samplers of each kind.

constant sampler_t pixels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

// The mean of a texel and its neighbours to the right and below.
kernel void soften(read_only image2d_t from, sampler_t at, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = read_imagef(from, at, p) + read_imagef(from, at, p + (int2)(1, 0)) + read_imagef(from, at, p + (int2)(0, 1));
    write_imagef(to, p, sum / 3.0f);
}

kernel void swap(read_only image2d_t from, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, p, read_imageui(from, pixels, p).zyxw);
}

kernel void slices(read_only image3d_t volume, read_only image2d_array_t layers, read_only image1d_t line,
                   global int* out) {
    int i = get_global_id(0);
    int4 voxel = read_imagei(volume, pixels, (int4)(i & 3, 1, i & 1, 0));
    int4 layer = read_imagei(layers, pixels, (int4)(i & 3, 2, i & 1, 0));
    out[i] = voxel.x - layer.y + read_imagei(line, pixels, i).x;
}

kernel void stretch(read_only image2d_t from, sampler_t at, global float* out) {
    int i = get_global_id(0);
    float2 p = ((float2)(i, i) + 0.5f) / 8.0f;
    out[i] = read_imagef(from, at, p).y;
}
