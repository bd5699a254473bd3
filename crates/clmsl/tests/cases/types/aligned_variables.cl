// run: k grid=2 group=2 in=[1,2,3,4] out=[0;14] -> out=[1,2,3,4,1,2,3,4,10,0,0,0,0,0]
// Alignment that is asked for in front of a declaration, behind a name or both, and that of the type where that is more.
float4 whole(const float* x) { return *(const float4*)x; }

__kernel void k(__global const float* in, __global float* out)
{
    __local __attribute__((aligned(16))) float shared[4];
    __attribute__((aligned(16))) float x[4];
    float y[4] __attribute__((aligned(16))) = { 1, 2, 3, 4 };
    __attribute__((aligned(32))) int a = 1, b = 2, c __attribute__((aligned(64))) = 3;
    int __attribute__((aligned(2))) d = 4, e;
    size_t i = get_local_id(0);
    shared[2 * i] = in[2 * i];
    shared[2 * i + 1] = in[2 * i + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i != 0) return;
    for (int k = 0; k < 4; ++k) x[k] = in[k];
    e = 0;
    vstore4(whole(x) + whole(y) - *(__local float4*)shared, 0, out);
    vstore4(whole(y), 1, out);
    out[8] = a + b + c + d + e;
    out[9] = (ulong)x % 16 + (ulong)y % 16 + (ulong)shared % 16;
    out[10] = (ulong)&a % 32;
    out[11] = (ulong)&b % 32;
    out[12] = (ulong)&c % 64;
}
