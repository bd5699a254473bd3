// run: members grid=1 p={i32:1,i32:0,i32:0,i32:0,f32:1,f32:2,f32:3,f32:4,i32:5,i32:0,i32:0,i32:0} out=[0;4] -> p={i32:2,i32:0,i32:0,i32:0,f32:1,f32:2,f32:6,f32:4,i32:5,i32:0,i32:0,i32:0} out=[8,6,12,1]
// run: k grid=1 v=[1,2,3,4,5,6,7,8,0,0,0,0] s={i32:7,f32:2,i32:0,f32:0} -> v=[6,8,10,12,10,12,6,8,-5,-12,-21,-32] s={i32:7,f32:5,i32:9,f32:2}
typedef struct { int a; float b; } S;

S twice(S s) { s.b *= 2.0f; return s; }
int sum(volatile int4 v) { return v.x + v.y + v.z + v.w; }

__kernel void k(volatile __global int4* v, volatile __global S* s)
{
    volatile int4 first = v[0];
    v[0] += v[1];
    v[2] = -(first * v[1] + v[0]);
    v[2] += v[0];
    v[2].x -= v[1].x - 5 * (sum(first) - 9);
    v[1].xy = v[0].zw;
    v[1].zw = v[0].xy;
    volatile S t = s[0];
    s[1] = t;
    S u = twice(t);
    s[0].b = u.b + 1;
    s[1].a = u.a + 2;
}

typedef struct { volatile int a; volatile float4 v; int b; } P;

__kernel void members(__global P* p, __global float* out)
{
    P mine = p[0], other = mine;
    other.v.zw *= 2;
    other.a++;
    out[0] = other.v.w;
    p[0] = other;
    p->v.w = mine.v.w;
    volatile float4* v = &other.v;
    out[1] = (*v).z;
    *v += *v;
    out[2] = other.v.z;
    out[3] = mine.a;
}
