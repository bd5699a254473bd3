// run: constant_masks grid=1 a=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] out=[0;64] -> out=[16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,1,9,2,10,3,11,4,12,5,13,6,14,7,15,8,16,1,2,2,1,1,2,2,1,8,1,2,7,1,5,1,8,1,101,116,16,1,101,2,2,3,2,3,2,12;4]
__kernel void constant_masks(__global const short16* a, __global short16* out)
{
    short16 v = a[0];
    out[0] = shuffle(v, (ushort16)(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    out[1] = shuffle2(v.lo, v.hi, (ushort16)(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    out[2] = (short16)(shuffle(v.s01, (ushort8)(0, 1, 1, 0, 2, 3, 65535, 16)), shuffle(v.lo, (ushort4)(7, 8, 9, 6)), shuffle2(v.s0123, v.s4567, (ushort4)(0, 4, 8, 15)));
    out[3].lo = shuffle2(v, v + (short)100, (ushort8)(0, 16, 31, 15, 32, 48, 33, 1));
    out[3].hi.lo = shuffle2(v.s01, v.s23, (ushort2)(2, 1)).xyxy;
    out[3].hi.hi = shuffle(v.s4567, (ushort4)(3)) + (short)vec_step(ushort3);
}

// run: computed_masks grid=16 a=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32] m=[0,5,10,15,20,25,30,35,40,45,50,55,60,65,70,255] c=[1,2,3,4] d=[5,6,7,8] out=[0;256] wide=[0;64] -> out=[1,6,11,16,21,26,31,4,9,14,19,24,29,2,7,32,4,9,14,3,8,13,2,7,12,1,6,11,16,5,10,3,27,4,1,26,3,28,25,2,27,4,1,26,3,28,25,26,18,23,20,17,22,19,24,21,2,17,18,1,2,17,18,1,13,18,23,28,1,6,11,16,21,26,31,4,9,14,19,12,16,5,10,15,4,9,14,3,8,13,2,7,12,1,6,15,3,28,25,2,27,4,1,26,3,28,25,2,27,4,1,2,22,19,24,21,18,23,20,17,2,17,18,1,2,17,18,1,25,30,3,8,13,18,23,28,1,6,11,16,21,26,31,24,12,1,6,11,16,5,10,15,4,9,14,3,8,13,2,11,27,4,1,26,3,28,25,2,27,4,1,26,3,28,25,26,18,23,20,17,22,19,24,21,2,17,18,1,2,17,18,1,5,10,15,20,25,30,3,8,13,18,23,28,1,6,11,4,8,13,2,7,12,1,6,11,16,5,10,15,4,9,14,7,3,28,25,2,27,4,1,26,3,28,25,2,27,4,1,2,22,19,24,21,18,23,20,17,2,17,18,1,2,17,18,1] wide=[4;4,3;4,2;4,1;4,4;4,3;4,2;4,1;4,8,4,8,8,3,7,7,7,6,2,8,8,1,5,7,7,4,8,8,8,7,3,7,7,2,6,8,8,5,1,7,7]
__kernel void computed_masks(__global const uchar16* a, __global const uchar16* m, __global const long4* c, __global const long4* d, __global uchar16* out, __global long4* wide)
{
    size_t i = get_global_id(0);
    uchar16 mask = m[0] + (uchar)(i * 3);
    out[i] = i % 4 == 0   ? shuffle2(a[0], a[1], mask)
             : i % 4 == 1 ? shuffle(a[0], mask)
             : i % 4 == 2 ? shuffle2(a[0].s0123, a[1].s89ab, mask)
                          : (uchar16)(shuffle(a[1].lo, mask.lo), shuffle2(a[0].s01, a[1].s01, mask.hi));
    ulong4 by = convert_ulong4(mask.s37bf);
    wide[i] = i < 8 ? shuffle(c[0], by) : (long4)(shuffle2(c[0], d[0], by.xy), shuffle(d[0].zw, by.zw));
}

// run: floats grid=1 a=[0.5,1.5,2.5,3.5,4.5,5.5,6.5,7.5] n=3 out=[0;16] steps=[0;8] -> out=[3.5,4.5,5.5,6.5,4.5,4.5,0.5,7.5,3.5,6.5,3.5,7.5,0.5;4] steps=[8,1,4,1,2,16,1,8]
__kernel void floats(__global const float8* a, uint n, __global float8* out, __global int* steps)
{
    int calls = 0;
    out[0] = shuffle(a[0], (uint8)(n, n + 1, n + 2, n + 3, n * 4, ~n, 0, n - 4));
    out[1] = shuffle2(a[calls++], a[0].s76543210, (uint8)(n) << (uint8)(0, 1, 2, 3, 4, 29, 30, 31));
    steps[0] = vec_step(float8); steps[1] = vec_step(a[0].s0); steps[2] = vec_step(a[calls++].s012); steps[3] = calls;
    steps[4] = vec_step(ulong2); steps[5] = vec_step(char16); steps[6] = vec_step(1 + 1); steps[7] = vec_step(a[0]);
}
