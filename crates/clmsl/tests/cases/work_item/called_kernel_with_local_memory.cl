typedef struct { int low; float4 v; } Pair;

int sum(__local const int* values, int n) {
    int all = 0;
    for (int i = 0; i < n; i++) all += values[i];
    return all;
}

__kernel void add_group(__global int* a, __global int* out) {
    __local int values[8];
    __local int grid[2][4], total;
    __local Pair pair;
    int i = get_local_id(0);
    values[i] = a[get_global_id(0)];
    grid[i / 4][i % 4] = i;
    if (i == 0) { pair.low = 100; pair.v = (float4)(1.0f); }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) total = sum(values, 8) + grid[1][3] + sizeof(values);
    barrier(CLK_LOCAL_MEM_FENCE);
    __local int* p = &total;
    out[get_global_id(0)] += *p + pair.low + (int)pair.v.w;
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel void twice(__global int* a, __global int* out) {
    __local int own;
    if (get_local_id(0) == 0) own = 1000;
    add_group(a, out);
    add_group(a, out);
    out[get_global_id(0)] += own;
}
// run: add_group grid=16 group=8 a=[1,2,3,4,5,6,7,8,1,1,1,1,1,1,1,1] out=[0;16] -> out=[176;8,148;8]
// run: twice grid=16 group=8 a=[1,2,3,4,5,6,7,8,1,1,1,1,1,1,1,1] out=[0;16] -> out=[1352;8,1296;8]
