// run: assigned grid=4 group=2 y=[1,2,3,4] -> y=[5,6,7,8]
// run: chosen grid=4 group=2 a=[1,2,3,4] b=[5,6,7,8] n=1 -> a=[1,2,3,4] b=[2,4,6,8]
// run: chosen grid=4 group=2 a=[1,2,3,4] b=[5,6,7,8] n=0 -> a=[2,4,6,8] b=[5,6,7,8]
// run: sums grid=4 group=2 y=[1,2,3,4] n=3 -> y=[16,32,48,64]
// run: again grid=4 group=2 y=[1,2,3,4] n=2 -> y=[15,18,21,24]
// run: tiles grid=4 group=2 y=[1,2,3,4] part=local:8 n=3 -> y=[12,12,28,28]
// run: pointers grid=4 group=2 y=[1,2,3,4] given=local:8 -> y=[9,8,9,8]
// differential: skip: dc_grid_barrier is our own extension, which no other implementation has
// Variables that are declared before a barrier and get other values behind it.
__kernel void assigned(__global int* y)
{
    int i = get_global_id(0);
    int t = y[i];
    y[i] = t;
    dc_grid_barrier();
    t = 4;
    y[i] += t;
}

// Pointers can be chosen again, in branches and loops, too.
__kernel void chosen(__global int* a, __global int* b, int n)
{
    int i = get_global_id(0);
    __global int* p = a;
    __global const int* q;
    int x = p[i];
    dc_grid_barrier();
    if (n)
        p = b;
    else
        p = a;
    for (int k = 0; k < 2; k++) {
        q = p + i;
        if (k == 0)
            p[i] = 0;
        else
            p[i] = *q + 2 * x;
    }
}

// Declared where C89 wants it: one value, an array and a structure, of which only some are used in each part.
struct both { int a, b; };
__kernel void sums(__global int* y, int n)
{
    int i, k, sum, own;
    int squares[2];
    struct both both;
    i = get_global_id(0);
    own = y[i];
    y[i] = 0;
    dc_grid_barrier();
    sum = 0;
    for (k = 0; k < n; k++) {
        squares[k & 1] = own;
        sum += squares[k & 1];
    }
    y[i] += sum;
    dc_grid_barrier();
    both = (struct both){own, 4};
    sum = 3;
    for (k = sum; k < both.b + n; k++)
        sum += k;
    y[i] += both.a * (sum - 8);
}

// What is declared in a loop is declared anew behind the barrier in it, and is another variable than what has its name outside.
__kernel void again(__global int* y, int n)
{
    int i = get_global_id(0);
    int t = y[i];
    for (int k = 0; k < n; k++) {
        const int c = 2 + k;
        int t = c;
        y[i] += t;
        dc_grid_barrier();
        t = y[(i + 1) % 4];
        dc_grid_barrier();
        t = k ? 1 : 4;
        y[i] += t;
    }
    y[i] = y[i] + 2 * t + 2;
}

// Local memory is written behind the barrier where a condition holds, in loops, by pointers and by functions.
void fill(__local int* part, int l, int value)
{
    part[l] = value;
}

__kernel void tiles(__global int* y, __local int* part, int n)
{
    __local int tile[2], other[2], seen;
    int i = get_global_id(0), l = get_local_id(0), sum = 0;
    dc_grid_barrier();
    for (int t = 0; t < n; t++) {
        if (i < 4)
            tile[l] = y[i];
        fill(other, l, 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[0] + tile[1];
        sum += other[0] - other[1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    __local int* p = part + l;
    *p = sum;
    if (l == 0)
        seen = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = part[1 - l] + seen * sum / 3;
}

// Pointers to local memory, one of them a parameter, that are changed and used between barriers only.
__kernel void pointers(__global int* y, __local int* given)
{
    __local int group[2];
    __local int* p = group;
    int i = get_global_id(0), l = get_local_id(0);
    given += l;
    p += 1 - l;
    *given = 4;
    *p = *given + l;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = group[l];
    dc_grid_barrier();
    p = group + l;
    *p = 4;
    y[i] += *p;
}
