// run: resize grid=7,5 src=r8unorm:4x3:[0,255,51,204,102,153,10,20,200,100,50,25] dst=r32float:7x5:[0;35] -> dst=[0,0.35714287,0.92857146,0.6,0.24285713,0.5857142,0.8,0.16000001,0.40285715,0.79142857,0.48784313,0.16252099,0.37719885,0.5113725,0.4,0.47142857,0.5857143,0.31960785,0.042016804,0.06442577,0.078431375,0.63058823,0.57512605,0.48638657,0.30431372,0.1302521,0.10560224,0.09019608,0.78431374,0.6442577,0.42016804,0.29411766,0.18907563,0.13305323,0.09803922]
__constant sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

__kernel void resize(__read_only image2d_t src, __write_only image2d_t dst) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float2 position = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(dst));
  write_imagef(dst, at, read_imagef(src, linear, position));
}
