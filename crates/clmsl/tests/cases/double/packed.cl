// options: --fp64 emulate
// run: k grid=1 p={u8:1,f64:0.1,f64:1,f64:2,f64:3,f64:4,u8:2} out=[0;2] -> p={u8:1,f64:0.30000000000000004,f64:1,f64:7,f64:3,f64:5,u8:2} out=[4,42]
// Emulated numbers at odd addresses.
struct __attribute__((packed)) P { uchar a; double d; double4 v; uchar b; };
__constant struct P start = { 1, 4.0, (double4)(42.0), 1 };
__kernel void k(__global struct P* p, __global double* out)
{
    size_t i = get_global_id(0);
    p[i].d += 0.2;
    p[i].v.y = p[i].v.z + p[i].v.w;
    p[i].v.w++;
    struct P q = start;
    out[2 * i] = start.d * q.a;
    out[2 * i + 1] = q.v.s3;
}
