// run: constants grid=9 out=[0,0,0,0,0,0,0,0,0] extra=[0,0,0,0,0,0,0,1000] -> out=[1264,207.25,113.25,205.25,122.25,234.25,105.25,206.25,173.25]
#define N 3
__constant int squares[N * N] = { 0, 1, 4, [4] = 16, 25, [8] = 64 };
__constant float scale = 1.0f / (2.0f * 2.0f) + N;
constant float2 offsets[] = { (float2)(1.0f, 2.0f), (float2)(3.0f), { 5.0f, 6.0f } };
__constant struct { int id; float4 colour; short pair[2]; } items[2] = { { 1, (float4)(1, 2, 3, 4), { 5, 6 } }, { .pair = { 7 }, .id = 8 } };
__constant uchar mask = 0xff & ~0x0f;

__kernel void constants(__global float* out, __constant float4* extra)
{
    __constant int local_table[2] = { 100, 200 };
    int i = get_global_id(0);
    out[i] = squares[i] + scale + offsets[i % (sizeof(offsets) / sizeof(offsets[0]))].y + local_table[i & 1];
    if (i == 0)
        out[0] = items[0].colour.z + items[0].pair[1] + items[1].id + items[1].pair[0] + items[1].pair[1] + items[1].colour.x + mask
               + extra[1].w;
}
