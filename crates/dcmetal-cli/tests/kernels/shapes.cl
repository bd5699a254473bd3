#include "shapes.h"

__kernel void sums(__global const VECTOR *x, __global float *y, __local float *parts, int4 offset)
{
    const int i = get_local_id(0);
    const VECTOR v = x[get_global_id(0)];
    parts[i] = v.x + v.y + v.z + v.w;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) {
        float sum = offset.x + offset.w;
        for (int k = 0; k < (int)get_local_size(0); k++)
            sum += parts[k];
        y[get_group_id(0)] = sum;
    }
}
