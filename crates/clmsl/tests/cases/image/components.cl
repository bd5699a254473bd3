// run: tile grid=1 colours=rgba8unorm:2x2:[255,0,0,255,0;12] counts=r32uint:3x1:[4,5,6] out=[0;4] -> out=[1,2,6,3]
int width(read_only image2d_t image) { return get_image_width(image); }

int wider(read_only image2d_t a, read_only image2d_t b) { return max(width(a), width(b)); }

float red(read_only image2d_t image, int2 at) { return read_imagef(image, at).x * width(image) / width(image); }

uint last(read_only image2d_t image) { return read_imageui(image, (int2)(width(image) - 1, 0)).x; }

kernel void tile(read_only image2d_t colours, read_only image2d_t counts, global float* out) {
  out[0] = red(colours, (int2)(0, 0));
  out[1] = width(colours);
  out[2] = last(counts);
  out[3] = wider(counts, colours);
}
