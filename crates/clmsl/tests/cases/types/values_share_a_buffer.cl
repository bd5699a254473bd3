// run: many grid=1 a0=[0] a1=[0] a2=[0] a3=[0] a4=[0] a5=[0] a6=[0] a7=[0] a8=[0] a9=[0] a10=[0] a11=[0] a12=[0] a13=[0] a14=[0] a15=[0] a16=[0] a17=[0] a18=[0] a19=[0] a20=[0] a21=[0] a22=[0] a23=[0] a24=[0] a25=[0] a26=[0] c=5 v=[1,2,3] f=0.5 p={i8:7,u8:0,u8:0,u8:0,i32:9,i32:8} n=1000000000000 s=11 d=3 w=[1,2,3,4,5,6,7,8] -> a0=[5] a1=[6] a2=[2] a3=[7] a4=[17] a5=[1000] a6=[22] a7=[1] a8=[36] a26=[26]
// More than 31 buffers if each value had one: the values share one, in which reflection says where each is. They are
// variables all the same.
typedef struct { char tag; int values[2]; } Pair;

__kernel void many(__global int* a0, __global int* a1, __global int* a2, __global int* a3, __global int* a4, __global int* a5, __global int* a6, __global int* a7, __global int* a8, __global int* a9, __global int* a10, __global int* a11, __global int* a12, __global int* a13, __global int* a14, __global int* a15, __global int* a16, __global int* a17, __global int* a18, __global int* a19, __global int* a20, __global int* a21, __global int* a22, __global int* a23, __global int* a24, __global int* a25, __global int* a26, char c, int3 v, float f, Pair p, long n, short s, const uchar d, int8 w)
{
    a0[0] = c;
    a1[0] = v.x + v.y + v.z;
    f *= 4.0f;
    a2[0] = f >= 2.0f ? 2 : 0;
    a3[0] = p.tag;
    p.values[1] += p.values[0];
    int* inner = &p.values[1];
    a4[0] = *inner;
    a5[0] = (int)(n / 1000000000);
    s += 11;
    a6[0] = s;
    a7[0] = d == 3 && get_work_dim() == 1;
    int4 sum = w.lo + w.hi;
    a8[0] = sum.x + sum.y + sum.z + sum.w;
    a26[0] = 26;
}
