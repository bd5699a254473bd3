// options: --fp64 emulate
// run: k grid=3 a=[1,1,3] b=[2,5,2] v=[10,20,30,40,11,21,31,41,12,22,32,42] -> v=[30,30,30,30,7,8,9,21,12,22,32,42]
// The conditions are comparisons of structures written in place, the values a vector and objects.
__kernel void k(__global const double* a, __global const double* b, __global ulong4* v)
{
    size_t i = get_global_id(0);
    ulong4 x = v[i];
    x = a[i] == 1.0 ? b[i] * 0.5 == 1.0 ? (ulong4)(x.z) : (ulong4)(7, 8, 9, x.y) : x;
    v[i] = x;
}
