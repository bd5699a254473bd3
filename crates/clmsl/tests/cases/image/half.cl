// run: halves grid=2 in=rgba16float:2x1:[0.5,-1.5,2,0.25,1,65504,-0.125,0] s=clamp|linear|unnormalized out=rgba16float:2x1:[0;8] levels=rgba8unorm:2x1:[0;8] -> out=[0.75,-2.25,3,0.375,1.5,inf,-0.1875,0] levels=[128,0,255,64,255,255,0,0]
kernel void halves(read_only image2d_t in, sampler_t s, write_only image2d_t out, write_only image2d_t levels) {
  int2 at = (int2)(get_global_id(0), 0);
  half4 texel = read_imageh(in, at);
  half4 sampled = read_imageh(in, s, convert_float2(at) + 0.5f);
  write_imageh(out, at, texel + sampled * 0.5h);
  write_imageh(levels, at, texel);
}
