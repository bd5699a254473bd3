// What it computes depends on the compiler: clang, which OpenCL implementations are made of, or the translator.
#ifdef __clang__
#define ORIGINAL 1
#else
#define ORIGINAL 0
#endif

__kernel void differs(__global const float *x, __global float *y, __global int *n)
{
    const size_t i = get_global_id(0);
    y[i] = ORIGINAL && i >= 5 ? x[i] + 100.0f : x[i];
    n[i] = i;
}

__kernel void rounds(__global float *y)
{
    const size_t i = get_global_id(0);
    y[i] = as_float(as_int(1.0f) + ORIGINAL * 3);
}

__kernel void crashes(__global int *n)
{
    if (ORIGINAL)
        n += 1L << 40;
    n[get_global_id(0)] = 1;
}

__kernel void hangs(__global volatile int *n)
{
    while (ORIGINAL && n[0] >= 0)
        ;
}
