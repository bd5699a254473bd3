// options: --fp64 emulate
// run: scalars grid=4 group=2 l=[-9223372036854775807,4294967296,-1,9223372036854775807] u=[18446744073709551614,9223372036854775808,0,4294967295] h=[0.5,0.0999755859375,-1023.5,32752] b=[256,0,-1,0] d=[1.0000000000000002,0.1,-8e307,5e-324] -> l=[-9223372036854775808,4294967295,-2,9223372036854775806] u=[18446744073709551615,9223372036854775809,1,4294967296] h=[1,0.199951171875,-2047,65504] b=[10,20,10,20] d=[2.0000000000000004,0.2,-1.6e308,1e-323]
// run: vectors grid=2 group=1 f=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] g=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32] c=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15,-128] h=[1,2,3,4,-0.5,0.25,2047,65504] u=[1,2,18446744073709551615,9223372036854775808,4294967296,5] d=[0.1,1e308,-2.5,5e-324] -> f=[16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1] g=[25,26,27,28,29,30,31,32,17,18,19,20,21,22,23,24,9,10,11,12,13,14,15,16,1,2,3,4,5,6,7,8] c=[-2,-4,-6,-8,-10,-12,-14,-128,-1,-3,-5,-7,-9,-11,-13,-15,1,3,5,7,9,11,13,15,0,2,4,6,8,10,12,14] h=[65504,2047,0.25,-0.5,4,3,2,1] u=[5,9223372036854775808,4294967296,18446744073709551615,1,2] d=[5e-324,-2.5,1e308,0.1]
// run: aggregates grid=2 group=1 y=[0;16] -> y=[-3,1,0,7,1,1,5,30,-2,3,1,17,5,2,6,21]
// run: rounds grid=2 group=1 u=[1,4294967296] d=[1,9.094947017729282e-13] h=[1.5,2] b=[1,0] c=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15,-16] n=2 -> u=[25769803786,42949672966] d=[1.2500000000009095,1.0000000000011369] h=[15.5,16] b=[5,5] c=[2,3,4,5,6,7,8,9,10,11,12,13,14,15,0,1,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15,-16,-1,-2]
// run: rounds grid=2 group=2 u=[1,4294967296] d=[1,0.5] h=[1.5,2] b=[1,0] c=[7;32] n=0 -> u=[1,4294967296] d=[1,0.5] h=[1.5,2] b=[7,5] c=[7;32]
// differential: skip: dc_grid_barrier is our own extension, which no other implementation has
// Values of many types that only variables have when a barrier is come to.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void scalars(__global long* l, __global ulong* u, __global half* h, __global int* b, __global double* d)
{
    int i = get_global_id(0);
    long low = l[i];
    ulong high = u[i];
    half small = h[i];
    bool some = b[i];
    double exact = d[i];
    l[i] = 0;
    u[i] = 0;
    h[i] = 0;
    b[i] = 0;
    d[i] = 0;
    dc_grid_barrier();
    l[i] = low - 1;
    u[i] = high + 1;
    h[i] = small * 2;
    b[i] = some ? 10 : 20;
    d[i] = exact * 2;
}

// Each work-item's go to the place of another.
__kernel void vectors(__global float* f, __global float* g, __global char* c, __global half* h, __global ulong* u, __global double* d)
{
    int i = get_global_id(0);
    float8 eight = vload8(i, f);
    float16 sixteen = vload16(i, g);
    char16 bytes = vload16(i, c);
    half4 halves = vload4(i, h);
    ulong3 words = vload3(i, u);
    double2 pair = vload2(i, d);
    dc_grid_barrier();
    vstore8(eight.s76543210, 1 - i, f);
    vstore16((float16)(sixteen.hi, sixteen.lo), 1 - i, g);
    vstore16((char16)(bytes.odd, bytes.even), 1 - i, c);
    vstore4(halves.wzyx, 1 - i, h);
    vstore3(words.zxy, 1 - i, u);
    vstore2(pair.yx, 1 - i, d);
}

struct mixed { char tag; double d; bool set; float8 v; half h; long l; };

__kernel void aggregates(__global int* y)
{
    int i = get_global_id(0);
    struct mixed m = {i - 3, i + 0.5, i > 0, (float8)(10 * i, 1, 2, 3, 4, 5, 6, 7), i + 0.25h, (i + 1L) << 40};
    bool flags[3] = {i == 0, i, i + 4};
    float16 rows[2];
    rows[0] = (float16)(i + 20);
    rows[1] = (float16)(i + 30);
    dc_grid_barrier();
    __global int* own = y + 8 * i;
    own[0] = m.tag;
    own[1] = m.d * 2;
    own[2] = m.set;
    own[3] = m.v.s7 + m.v.s0;
    own[4] = m.h * 4;
    own[5] = m.l >> 40;
    own[6] = flags[0] + 2 * flags[1] + 4 * flags[2];
    own[7] = rows[1 - i].sf;
}

// They change from round to round, by what the other work-item has.
__kernel void rounds(__global ulong* u, __global double* d, __global half* h, __global int* b, __global char* c, int n)
{
    int i = get_global_id(0);
    ulong all = u[i];
    double sum = d[i];
    half small = h[i];
    bool flip = b[i];
    char16 turned = vload16(i, c);
    for (int k = 0; k < n; k++) {
        u[i] = all;
        d[i] = sum;
        h[i] = small;
        b[i] = flip;
        dc_grid_barrier();
        all = all * 3 + u[1 - i];
        sum = sum / 2 + d[1 - i];
        small = small * 2 + h[1 - i];
        flip = flip != (b[1 - i] != 0);
        turned = turned.s123456789abcdef0;
        dc_grid_barrier();
    }
    u[i] = all;
    d[i] = sum;
    h[i] = small;
    b[i] = flip ? 7 : 5;
    vstore16(turned, i, c);
}
