// run: packed grid=1 in=[0,1,2,3,4,5,6,7] out=[0,0,0,0,0,0,0,0] bytes=[1,2,3,4,250] shorts=[0,0,0,0] table=[1,2,3,4,5,6] -> out=[40,4,5,6,7,6,3,4] shorts=[2,3,4,250]
__kernel void packed(__global const float* in, __global float* out, __global const uchar* bytes, __global ushort* shorts,
                     __constant int* table)
{
    __local float shared[8];
    float own[8];
    float4 four = vload4(1, in);
    float2 two = vload2(1, in + 1);
    vstore4(four, 0, out + 1);
    vstore2(two, 3, out);
    vstore3((float3)(1, 2, 3), 1, own);
    vstore3(vload3(1, own) * 10.0f, 0, shared);
    out[0] = shared[0] + shared[2];
    vstore4(convert_ushort4(vload4(0, bytes + 1)), 0, shorts);
    out[5] = vload3(1, table).z;
}
