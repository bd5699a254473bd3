// run: rotate grid=8 group=4 a=[1,2,3,4,5,6,7,8] b=[0;8] -> a=[6,9,12,15,18,21,16,11] b=[3,5,7,9,11,13,15,9]
// run: returns grid=10 group=5 a=[1,2,3,4,5,6,7,8,9,10] n=7 -> a=[3,5,7,9,11,13,8,8,9,10]
// run: many grid=4 group=2 y=[0;4] -> y=[123,150,191,254]
// differential: skip: dc_grid_barrier is our own extension, which no other implementation has
// Barriers of all work-items of a launch, one behind the other. What is computed before one is there behind it.
__kernel void rotate(__global int* a, __global int* b)
{
    size_t i = get_global_id(0), n = get_global_size(0);
    int own = a[i];
    b[i] = own + a[(i + 1) % n];
    dc_grid_barrier();
    a[i] = own + b[(i + 1) % n];
}

// Work-items that have returned are not there behind the barrier.
__kernel void returns(__global int* a, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int next = i + 1 < n ? a[i + 1] : 1;
    dc_grid_barrier();
    a[i] += next;
}

struct pair { int x; short y[3]; };

// Arrays, structures and vectors; parameters that are changed; memory of the group that is used between two barriers only.
__kernel void many(__global int* y)
{
    __local int group[2];
    int i = get_global_id(0);
    int squares[4];
    struct pair p = {i, {1, 2, 3}};
    float3 v = (float3)(i, 2 * i, 3 * i);
    for (int k = 0; k < 4; k++)
        squares[k] = k * k + i;
    y[i] = i + 1;
    dc_grid_barrier();
    group[get_local_id(0)] = y[3 - i];
    barrier(CLK_LOCAL_MEM_FENCE);
    p.y[1] += group[1 - get_local_id(0)];
    squares[i] *= 10;
    dc_grid_barrier();
    int sum = squares[0] + squares[1] + squares[2] + squares[3] + p.x + p.y[0] + p.y[1] + p.y[2] + (int)v.z;
    y[i] = sum + y[i] * 100 - (i > 0 ? 100 * i : 0);
}
