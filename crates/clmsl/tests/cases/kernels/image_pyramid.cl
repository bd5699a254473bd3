// run: reduce grid=3,2 fine=rgba16float:5x3:[2,4.25,6.625,2.125,3.75,3.125,6.875,7.5,0.875,4.125,0.625,6.625,6.875,1.375,6.375,3.125,5.5,5.875,6.125,2.5,0.25,2.375,0.375,0.5,1.125,6.625,3.125,6,1.5,5.625,3,4.875,4.25,7.75,1.875,3.375,6.25,3.875,1.125,6.5,5.625,5.125,1.25,5.25,2.25,1.375,4.875,4.875,2.875,6.875,5.75,2.75,0.375,3.25,7.75,7,7.75,2.75,0.875,5.375] coarse=rgba16float:3x2:[0;24] -> coarse=[1.78125,4.09375,4.25,4.03125,3.375,4.71875,2.96875,4.5,5.875,4.875,3.625,4.5,3.9375,3.25,3.0625,5.0625,1.625,5.0625,6.75,4.875,7.75,2.75,0.875,5.375]
__constant sampler_t edge = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void reduce(__read_only image2d_t fine, __write_only image2d_t coarse) {
  const int x = get_global_id(0), y = get_global_id(1);
  float4 sum = read_imagef(fine, edge, (int2)(2 * x, 2 * y)) + read_imagef(fine, edge, (int2)(2 * x + 1, 2 * y)) +
               read_imagef(fine, edge, (int2)(2 * x, 2 * y + 1)) + read_imagef(fine, edge, (int2)(2 * x + 1, 2 * y + 1));
  write_imagef(coarse, (int2)(x, y), 0.25f * sum);
}
