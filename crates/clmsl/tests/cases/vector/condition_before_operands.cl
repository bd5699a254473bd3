// run: order grid=1 a=[1,2,3,4] out=[0;16] -> out=[2,2,-2,-2,1,2,3,3,-1,-2,4,5,10,10,20,20]
int4 grow(int4* v) { return *v += 1; }
__kernel void order(__global const int* a, __global int4* out)
{
    int4 x = vload4(0, a);
    int n = 0;
    out[0] = (n += 2, x < 3) ? (int4)(n) : (int4)(-n);
    out[1] = x > 3 ? (int4)(++n) : x;
    x = vload4(0, a);
    out[2] = grow(&x) > 3 ? x : 1 - x;
    int8 w = (int8)(0);
    w.hi = (int4)(10);
    int8 y = w++ > 0 ? w + 9 : w;
    out[3] = (int4)(y.s6 / 2, w.s6 - 1, y.s47);
}
// differential: tame: sums of any numbers overflow, which is undefined
