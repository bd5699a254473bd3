// run: choose grid=1 a=[1,5,3,-2] b=[2,5,1,-1] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] flags=[9,9,9,9,9,9,9,9] mask=[-1,1,0,-2147483648] -> out=[1,5,1,-2,1,9,9,-2,2,5,3,-1,1,5,1,-2,2,5,1,-2] flags=[1,0,3,20,1,1,1,195]
__kernel void choose(__global const float4* a, __global const float4* b, __global float4* out, __global int* flags,
                     __global const int4* mask)
{
    out[0] = a[0] < b[0] ? a[0] : b[0];
    out[1] = mask[0] ? a[0] : (float4)(9.0f);
    out[2] = select(a[0], b[0], mask[0]);
    out[3] = select(a[0], b[0], a[0] > 2.0f);
    out[4] = bitselect(a[0], b[0], as_float4((uint4)(0xffffffff, 0, 0x7fffffff, 0x80000000)));
    flags[0] = any(a[0] < b[0]);
    flags[1] = all(a[0] < b[0]);
    flags[2] = any(mask[0]) + 2 * all(mask[0] < 5);
    flags[3] = select(10, 20, flags[0]);
    flags[4] = select((char)1, (char)2, (char)0);
    flags[5] = any(-3) + all(3);
    if (any(a[0] == b[0]) && !all(mask[0]))
        flags[6] = 1;
    int4 bits = bitselect((int4)(0xf0), (int4)(0x0f), (int4)(0x33));
    flags[7] = bits.x;
}
