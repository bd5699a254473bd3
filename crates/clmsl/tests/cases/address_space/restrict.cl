// run: blend grid=2 x=[1,2] y=[3,4] out=[0,0] -> out=[7,10]
// run: rotated grid=4 group=4 in=[1,2,3,4] data=[1,2,3,4] t=local:16 sum=[0;4] -> data=[12,23,34,41] sum=[3,5,7,5]
// run: by_cast grid=1 in=[1,2] out=[0] -> in=[5,2] out=[7]
// `restrict` on parameters, in the form that all versions of Metal take. It goes where a barrier lies between a write
// through the pointer and a read, which are of two work-items.
float twice(__global const float* restrict p, int i) { return 2 * p[i]; }
void put(__global float* __restrict__ p, __private const float* restrict value) { p[get_global_id(0)] = *value; }

__kernel void blend(__global const float* restrict x, __global float* restrict y, __global float* restrict out)
{
    float v = twice(x, get_global_id(0)) + y[get_global_id(0)] + 2;
    put(out, &v);
}

__kernel void rotated(__global const int* restrict in, __global uint* restrict data, __local int* restrict t, __global int* restrict sum)
{
    int i = get_local_id(0);
    t[i] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    sum[i] = t[i] + t[(i + 1) % 4];
    data[i] *= 10;
    barrier(CLK_GLOBAL_MEM_FENCE);
    uint after = data[(i + 1) % 4];
    barrier(CLK_GLOBAL_MEM_FENCE);
    data[i] = 10 * (i + 1) + after / 10;
}

__kernel void by_cast(__global const int* restrict in, __global int* out)
{
    ((__global int*)in)[0] += 4;
    barrier(CLK_GLOBAL_MEM_FENCE);
    *out = in[0] + in[1];
}
