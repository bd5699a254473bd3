// run: divide grid=4 a=[7,-7,100,-2147483647] b=[2,2,-7,3] q=[0,0,0,0] r=[0,0,0,0] -> q=[3,-3,-14,-715827882] r=[1,-1,2,-1]
// run: by_constants grid=1 a=[-50,47] u=[4000000000,4294967295] -> a=[-7,-8] u=[1333333333,3]
__kernel void divide(__global const int* a, __global const int* b, __global int* q, __global int* r)
{
    int i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
}

__kernel void by_constants(__global int* a, __global uint* u)
{
    a[0] /= 7;
    a[1] = a[1] % 10 + a[1] / -3;
    u[0] = u[0] / 3 + u[0] % 16;
    u[1] /= u[0];
}
// differential: tame: OpenCL C leaves division by zero open
