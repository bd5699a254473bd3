// differential: given: filtered sums come out in the order of each side, and coordinates that are no numbers are undefined
// run: declared grid=3 image=r32float:4x1:[1,2,4,8] s=repeat|linear|normalized x=[-0.4,0.3,0.9] out=[0;21] -> out=[0,1,4,2.2,0,1,3.8,1.7,1.7,2,1.7,2,2,1.7,7.200001,8,8,8,8,8,7.3000007]
#define CLAMPED (CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP)
const sampler_t at_program_scope = CLAMPED | CLK_FILTER_LINEAR;
constant sampler_t edge = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
__constant sampler_t tiles = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST;

float tap(read_only image2d_t image, sampler_t s, float x) { return read_imagef(image, s, (float2)(x, 0.5f)).x; }

float twice_removed(read_only image2d_t image, const sampler_t s, float x) { return tap(image, s, x); }

kernel void declared(read_only image2d_t image, sampler_t s, global const float* x, global float* out) {
  const sampler_t mirrored = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;
  sampler_t outside = CLAMPED | CLK_FILTER_NEAREST;
  size_t i = get_global_id(0);
  float u = x[i], p = 4.0f * u;
  out[7 * i] = tap(image, at_program_scope, p);
  out[7 * i + 1] = tap(image, edge, u);
  out[7 * i + 2] = read_imagef(image, tiles, (float2)(u, 0.5f)).x;
  out[7 * i + 3] = twice_removed(image, mirrored, u);
  out[7 * i + 4] = read_imagef(image, outside, (float2)(p, 0.5f)).x;
  out[7 * i + 5] = read_imagef(image, CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST, (float2)(p, 0.5f)).x;
  out[7 * i + 6] = twice_removed(image, s, u);
}
