// run: invert grid=2,2 src=rgba8unorm:2x2:[0,51,102,204,255,255,255,255,1,2,3,4,250,240,230,220] dst=rgba8unorm:2x2:[0;16] -> dst=[255,204,153,204,0,0,0,255,254,253,252,4,5,15,25,220]
// run: threshold grid=4 level=10 in=r32uint:4x1:[9,10,11,4294967295] out=r8uint:4x1:[7;4] -> out=[0,0,255,255]
// run: difference grid=3 a=r16sint:3x1:[1,-2,3] b=r16sint:3x1:[10,20,-30] out=r16sint:3x1:[0;3] -> out=[-9,-22,33]
__kernel void invert(__read_only image2d_t src, __write_only image2d_t dst) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float4 c = read_imagef(src, at);
  write_imagef(dst, at, (float4)(1.0f - c.xyz, c.w));
}

__kernel void threshold(uint level, read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)((int)get_global_id(0), 0);
  write_imageui(out, at, read_imageui(in, at).x > level ? (uint4)(255) : (uint4)(0));
}

int4 texel(image2d_t image, int x) { return read_imagei(image, (int2)(x, 0)); }

void store(write_only image2d_t image, int x, int4 value) { write_imagei(image, (int2)(x, 0), value); }

__kernel void difference(read_only image2d_t a, read_only image2d_t b, write_only image2d_t out) {
  int x = get_global_id(0);
  store(out, x, texel(a, x) - texel(b, x));
}
