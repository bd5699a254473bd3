#define T 8

float put(__local float *tile, __global const float *from, int row, int width)
{
    return tile[get_local_id(1) * T + get_local_id(0)] = from[row * width + get_global_id(0)];
}

__kernel void product(__global const float *a, __global const float *b, __global float *c, int n)
{
    __local float rows[T * T], columns[T * T];
    const int x = get_local_id(0), y = get_local_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += T) {
        rows[y * T + x] = a[get_global_id(1) * n + t + x];
        put(columns, b, t + y, n);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < T; k++)
            sum = fma(rows[y * T + k], columns[k * T + x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[get_global_id(1) * n + get_global_id(0)] = sum;
}
