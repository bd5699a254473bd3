// run: sums grid=1 a=[1,2,3,4,5,6] out=[0,0,0,0] -> out=[42,3,9,7]
// A pragma between a loop and its body is not the body.
__kernel void sums(__global const int* a, __global int* out)
{
    for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int k = 0; k < 6; ++k)
            out[0] += a[k];
    if (a[0] == 2)
#pragma unroll
        for (int k = 0; k < 6; ++k)
            out[1] += a[k];
    else
#pragma unroll 2
#pragma OPENCL FP_CONTRACT ON
        out[1] = 3;
    int n = 0;
    do
#pragma unroll
        for (int k = 0; k < 3; ++k) n += 3;
    while (n < 5);
    out[2] = n;
    switch (a[1]) {
    case 2:
#pragma unroll
        for (int k = 0; k < 7; ++k) out[3]++;
#pragma unroll
    }
#pragma unroll
}
