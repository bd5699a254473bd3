// options: -cl-fast-relaxed-math
// run: fast grid=1 x=[9,3] -> x=[11,7.25]
__kernel void fast(__global float* x)
{
#ifdef __FAST_RELAXED_MATH__
    x[0] = sqrt(x[0]) + exp2(x[1]);
#endif
    x[1] = native_sqrt(16.0f) + half_recip(4.0f) + fabs(x[1]);
}
