// run: divide grid=4 a=[2147483647,-2147483648,5,9] b=[0,-1,0,2] q=[0,0,0,0] r=[0,0,0,0] u=[1,2,3,9] v=[0,0,0,0] c=[0,-128,-1,0,0,-128,-1,0,0,-128,-1,0,8,2,2,2] d=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> q=[0,-2147483648,0,4] r=[2147483647,0,5,1] v=[1,2,3,5] d=[0,0,0,0,0,0,0,0,0,0,0,0,4,1,1,0]
// OpenCL C asks for no particular value where the divisor is 0 or the quotient overflows, only that nothing stops; the
// expected values are those of the guarded forms: 0 and the dividend, and the wrapped quotient.
__kernel void divide(__global const int* a, __global const int* b, __global int* q, __global int* r,
                     __global const uint* u, __global uint* v, __global const char4* c, __global char4* d)
{
    int i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
    v[i] = u[i] / (uint)b[i] + u[i] % (uint)b[i];
    d[i] = c[i] / c[i].wzyx;
    d[i] %= c[i];
}
// differential: skip: OpenCL C leaves division by zero open
