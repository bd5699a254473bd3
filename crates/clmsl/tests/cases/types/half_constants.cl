// run: k grid=1 bits=[0,0,0,0,0,0,0,0] -> bits=[15361,15360,15361,15361,31744,65504,1,48128]
// The constants are nearest to a half when read once; over float or double they would be ties and go down.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__constant half table[] = { 1.000488281250000000000000000001h, 0x1.002p0h, 0x1.0020000001p0h, as_half((short)0x3c01) };
__constant half infinite = as_half((ushort)0x7c00);
__constant half sum = 1.0h - (half)2 * 1.0h;
__kernel void k(__global int* bits)
{
    for (int i = 0; i < 4; i++)
        bits[i] = as_ushort(table[i]);
    bits[4] = as_ushort(infinite);
    bits[5] = (int)65519.99h;
    bits[6] = as_ushort(0.00000002980232238769531250000000000000001h);
    bits[7] = as_ushort(sum);
}
