// run: dots grid=4 a=[4294967295,2155905152,2155905152,67305985] b=[4294967295,2155905152,2139062143,4278255109] acc=[0,4294967295,2147483647,2147483648] u=[0;16] i=[0;48] -> u=[260100,260100,260100,260100,65536,4294967295,65536,4294967295,65024,2147548671,65024,2147548671,1533,2147485181,1533,2147485181] i=[4,4,4,4,-1020,-1020,-1020,-1020,-1020,-1020,-1020,-1020,65536,65535,65536,65535,-65536,-65537,-65536,-65537,-65536,-65537,-65536,-65537,-65024,2147418623,-65024,2147418623,65024,2147483647,65024,2147483647,-65024,2147418623,-65024,2147418623,-3,-2147483648,-3,-2147483648,-3,-2147483648,-3,-2147483648,1533,-2147482115,1533,-2147482115]
// cl_khr_integer_dot_product: of signed and unsigned bytes, in vectors and in words, saturating sums too.
#ifndef cl_khr_integer_dot_product
#error "the extension is there"
#endif
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable

__kernel void dots(__global const uint* a, __global const uint* b, __global const uint* acc, __global uint* u,
                   __global int* i)
{
    size_t k = get_global_id(0);
    uint x = a[k], y = b[k];
    uchar4 ux = as_uchar4(x), uy = as_uchar4(y);
    char4 sx = as_char4(x), sy = as_char4(y);
    int sum = as_int(acc[k]);
    u += 4 * k;
    i += 12 * k;
    u[0] = dot(ux, uy);
    u[1] = dot_acc_sat(ux, uy, acc[k]);
    u[2] = dot_4x8packed_uu_uint(x, y);
    u[3] = dot_acc_sat_4x8packed_uu_uint(x, y, acc[k]);
    i[0] = dot(sx, sy);
    i[1] = dot_acc_sat(sx, sy, sum);
    i[2] = dot_4x8packed_ss_int(x, y);
    i[3] = dot_acc_sat_4x8packed_ss_int(x, y, sum);
    i[4] = dot(ux, sy);
    i[5] = dot_acc_sat(ux, sy, sum);
    i[6] = dot_4x8packed_us_int(x, y);
    i[7] = dot_acc_sat_4x8packed_us_int(x, y, sum);
    i[8] = dot(sx, uy);
    i[9] = dot_acc_sat(sx, uy, sum);
    i[10] = dot_4x8packed_su_int(x, y);
    i[11] = dot_acc_sat_4x8packed_su_int(x, y, sum);
}
