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
