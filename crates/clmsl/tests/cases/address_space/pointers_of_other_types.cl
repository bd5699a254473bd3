// run: k grid=1 i=[3,4,0] f=[0,0] -> i=[3,4,1077936128] f=[4.2e-45,5.6e-45]
// Compilers of OpenCL C only warn when a pointer becomes one to another type without a cast.
uint sum(__global uint* p) { return p[0] + p[1]; }

__kernel void k(__global int* i, __global float* f)
{
    __global uint* u = f;
    u[0] = sum(i) - 4;
    u[1] = 4;
    float three = 3.0f;
    int* bits = &three;
    i[2] = *bits;
}
