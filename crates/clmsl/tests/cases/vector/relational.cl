// run: relational grid=1 a=[1,5,3,-2,nan,inf,-0,-7] b=[2,5,1,-2] out=[9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9] narrow=[9,9,9,9,9,9,9,9,9,9,9,9] u=[0,5,200,7,1,5,100,0] -> out=[-1,0,0,0,0,-1,0,-1,-1,-1,-1,-1,0,-1,-1,-1,4,0,4,0,-1,-1,0,0,-11,0,0,0,-2,-4,-7,-5] narrow=[0,0,-1,-1,-1,0,0,0,0,-1,-1,0]
__kernel void relational(__global const float4* a, __global const float4* b, __global int4* out, __global char4* narrow,
                         __global const uchar4* u)
{
    out[0] = a[0] < b[0];
    out[1] = a[0] == b[0];
    out[2] = a[0] >= b[0] || a[0] == 1.0f;
    out[3] = !(a[0] < b[0]);
    out[4] = (a[0] != b[0]) & 4;
    out[5] = isnan(a[1]) | isinf(a[1]);
    out[6] = isless(a[0], b[0]) + isnotequal(a[1], a[1]) * 10;
    out[7] = signbit(a[1]) + islessgreater(a[0], b[0]) * 2 + isordered(a[1], b[0]) * 4;
    narrow[0] = u[0] > u[1];
    narrow[1] = !u[0];
    narrow[2] = u[0] && u[1];
}
