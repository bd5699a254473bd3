// run: wide grid=1 a=[0,1,2,3,4,5,6,7,10,11,12,13,1,15,16,17] -> a=[0,1,2,3,4,5,6,7,34,32,30,28,26,24,22,20]
// run: narrow grid=1 a=[0,1,2,3,4,5,6,7,10,11,12,13,1,15,16,17] -> a=[0,1,2,3,4,5,6,7,34,32,30,28,26,24,22,20]
// run: pointer grid=1 a=[0,1,2,3,4,5,6,7,10,11,12,13,1,15,16,17] -> a=[0,1,2,3,4,5,6,7,34,32,30,28,26,24,22,20]
// run: compound grid=1 a=[0,1,2,3,4,5,6,7,10,11,12,13,1,15,16,17] -> a=[0,1,2,3,4,5,6,7,44,43,42,41,27,39,38,37]
// run: value grid=1 b=[0,7,7,7,2,3,4,5] out=[0;6] -> b=[1,9,7,7,2,3,4,5] out=[1,9,0,0,0,0]
// run: increment grid=1 b=[0,7,7,7,2,3,4,5] out=[0;6] -> b=[1,8,7,7,2,3,4,5] out=[1,8,0,7,0,0]
// differential: given: the numbers are indices
// Where a place is does not change while the parts of a vector there are written.
kernel void wide(global int8* a) { a[a[1].s4].s76543210 = (int8)(20, 22, 24, 26, 28, 30, 32, 34); }

kernel void narrow(global char8* a) { a[a[1].s4].s76543210 = (char8)(20, 22, 24, 26, 28, 30, 32, 34); }

kernel void pointer(global int8* a)
{
    int8 v = a[1];
    int8* p = &v;
    p[v.s4 - 1].s76543210 = (int8)(20, 22, 24, 26, 28, 30, 32, 34);
    a[1] = v;
}

kernel void compound(global int8* a) { a[a[1].s4].s76543210 += (int8)(20, 22, 24, 26, 28, 30, 32, 34); }

kernel void value(global int4* b, global int* out)
{
    int2 taken = b[b[0].x].xy = (int2)(1, 9);
    out[0] = taken.x;
    out[1] = taken.y;
}

kernel void increment(global int4* b, global int* out)
{
    int2 after = ++b[b[0].x].xy;
    out[0] = after.x;
    out[1] = after.y;
    b[b[0].x - 1].x = 0;
    int2 before = b[b[0].x].xy++;
    out[2] = before.x;
    out[3] = before.y - 1;
    b[0].y--;
}
