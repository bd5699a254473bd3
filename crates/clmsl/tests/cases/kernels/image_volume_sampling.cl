// run: march grid=3,3 volume=r8unorm:4x4x4:[233,122,167,49,114,3,184,187,143,103,221,151,112,75,170,83,237,199,127,235,235,25,116,208,202,225,26,54,159,179,8,164,255,184,157,87,69,244,115,68,128,253,23,219,186,146,209,144,199,164,75,64,132,16,193,211,217,134,173,208,194,252,196,204] s=clamp|linear|normalized steps=8 out=r32float:3x3:[0;9] -> out=[0.75885755,0.53267974,0.45417348,0.5497753,0.47181374,0.5690972,0.595527,0.54707927,0.5329453]
// The mean along each ray through a volume.
float density(read_only image3d_t volume, sampler_t s, float3 at) { return read_imagef(volume, s, (float4)(at, 0.0f)).x; }

kernel void march(read_only image3d_t volume, sampler_t s, int steps, write_only image2d_t out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  const float2 position = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(out));
  float sum = 0.0f;
  for (int k = 0; k < steps; k++) {
    sum += density(volume, s, (float3)(position, (float)k / steps));
  }
  write_imagef(out, at, (float4)(sum / steps));
}
