// options: --fp64 emulate
// run: layout grid=2 p={f32:1,u32:0,f64:2.5,f64:-1,u8:7,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,f32:3,u32:0,f64:0.1,f64:4,u8:9,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0} sizes=[0;4] -> p={f32:1,u32:0,f64:-1,f64:2.5,u8:7,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,f32:3,u32:0,f64:4,f64:0.1,u8:9,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0} sizes=[8,8,32,8]
// run: spaces grid=4 group=4 x=[1,2,3,4] scale=0.1 tile=local:32 -> x=[1.7,5.441592653589793,3.7333333333333334,4.6]
// run: bits grid=1 x=[0.1] u=[0;3] r=[0;3] f=[0;2] -> x=[0.1] u=[4591870180066957722,2576980378,1069128089] r=[0.1,-0.1,2.0] f=[-1.5881868392106856e-23,1.4499999284744263]
// run: kept grid=1 x=[1,2] -> x=[3,2.5]
// A double has 8 bytes and IEEE's bits in every address space, in structures and unions.
struct particle { float mass; double x, v; uchar tag; };
union word { ulong u; double d; };
__constant double table[3] = { 0.5, M_PI, 1.0 / 3.0 };
__constant struct particle zero = { 1.0f, 0.5, .tag = 3 };

__kernel void layout(__global struct particle* p, __global uint* sizes) {
  size_t i = get_global_id(0);
  struct particle q = p[i];
  p[i].x = q.v;
  p[i].v = q.x;
  sizes[0] = sizeof(double);
  sizes[1] = sizeof(p->x);
  sizes[2] = sizeof(struct particle);
  sizes[3] = sizeof(union word);
}

double twice(double a) { return a + a; }

void add(double* to, __constant const double* from) { *to += *from; }

__kernel void spaces(__global double* x, double scale, __local double* tile) {
  size_t i = get_global_id(0);
  __local double shared;
  if (i == 0)
    shared = zero.x;
  tile[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  double sum[2] = { tile[(i + 1) % 4] };
  sum[0] *= scale;
  sum[1] = i > 5 ? table[0] : tile[i];
  sum[0] += sum[1];
  add(sum, table + i % 3);
  double half_of = i == 7 ? 1 : twice(shared) - 1;
  x[i] = sum[0] + half_of;
}

__kernel void bits(__global double* x, __global ulong* u, __global double* r, __global float* f) {
  union word w;
  w.d = x[0];
  u[0] = w.u;
  u[1] = as_uint2(x[0]).x;
  u[2] = as_ulong(x[0]) >> 32;
  r[0] = as_double(w.u);
  r[1] = as_double(as_uint2(x[0]) ^ (uint2)(0, 0x80000000));
  r[2] = as_double(0x4000000000000000);
  float2 parts = as_float2(x[0]);
  f[0] = parts.x;
  f[1] = parts.y;
}

__kernel void kept(volatile __global double* x) {
  x[0] += x[1];
  double y = x[1];
  x[1] = y + 0.5;
}
