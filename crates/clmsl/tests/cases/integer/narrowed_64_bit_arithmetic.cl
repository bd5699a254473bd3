// run: ids grid=4 group=2 n=-1 out=[0;32] -> out=[0,7,12,7,4294967295,1,0,16,1,11,14,6,4294967294,1,0,16,2,1,20,5,4294967293,1,0,16,3,4,22,4,4294967292,1,0,16]
// run: values grid=1 a=[-5,7] u=[4000000000,3000000000,5] big=[8589934594] out=[0;12] wide=[0;6] -> out=[2705032699,35,4294967291,4294967286,3,2,2705032704,1,4294967295,715827882,4,0] wide=[7000000000,4294967291,1,12000000000000000000,18446744073709551611,1]
// Sums and products in 64 bits, of which the program keeps 32, are computed in 32; what may exceed them is not.
__kernel void ids(int n, __global uint* out)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    __global uint* mine = out + 8 * get_global_id(0);
    mine[0] = i;
    mine[1] = get_local_id(0) * 4 + (get_global_id(0) > 1 ? get_group_id(0) - get_local_id(0) : 7);
    mine[2] = 12 + get_global_id(0) * 2 + (get_global_id(0) > 1) * 4;
    mine[3] = 7 - get_global_id(0);
    mine[4] = n - get_global_id(0);
    // An `int` becomes a `size_t`, and -1 the greatest one.
    mine[5] = get_global_id(0) < n;
    uint half_size = (get_global_size(0) / 2 + get_group_id(0)) >> 1;
    half_size /= get_global_id(0) + 1 > 2 ? get_group_id(0) + 1 : get_global_size(0) / 2;
    mine[6] = half_size;
    uint doubled = 1;
    for (uint k = get_local_size(0); k < 16; k += get_local_size(0))
        doubled += get_local_size(0) == 2;
    mine[7] = doubled * get_local_size(0);
}

__kernel void values(__global const int* a, __global const uint* u, __global const ulong* big, __global uint* out, __global ulong* wide)
{
    out[0] = (size_t)u[0] + u[1] + a[0];
    out[1] = (long)a[1] * (size_t)5;
    out[2] = -(ulong)u[2];
    out[3] = ~((ulong)9) & (((ulong)u[2] << 33) - (long)5 - (ulong)u[2]) ^ 0;
    // The sum does not fit, so its half needs all of it.
    out[4] = ((ulong)u[0] + u[1]) / 2000000000u;
    out[5] = ((ulong)u[0] + u[1] + (ulong)u[0]) >> 32;
    out[6] = ((ulong)u[0] + (ulong)u[1]) & 0xffffffff;
    out[7] = (ulong)u[0] + u[1] > u[0];
    out[8] = big[0] - (ulong)3;
    out[9] = ((ulong)1 << 33) / (ulong)12;
    out[10] = big[0] / ((ulong)(u[0] | 2) / (ulong)2);
    out[11] = (ulong)a[0] < (ulong)u[0];
    wide[0] = (ulong)u[0] + u[1];
    wide[1] = (uint)((ulong)u[2] - 10);
    wide[2] = (bool)((ulong)u[2] << 40);
    wide[3] = (ulong)u[0] * u[1];
    wide[4] = (ulong)a[0];
    wide[5] = (float)((ulong)u[0] << 8) > 1e12f;
}
