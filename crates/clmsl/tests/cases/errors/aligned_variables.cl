void f(void);
__kernel void k(__global int* o)
{
    __attribute__((aligned(3))) int a = 1;
    __attribute__((aligned(16))) __constant int c = 2;
    int b __attribute__((cleanup(f))) = 3;
    typedef int wide __attribute__((aligned(16)));
    __attribute__((aligned(16))) typedef int wider;
    o[0] = a + b + c;
}
