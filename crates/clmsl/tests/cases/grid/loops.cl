// run: relax grid=6 group=2 a=[0,0,0,0,0,64] b=[0;6] rounds=4 -> a=[0,4,8,24,40,64] b=[0,0,8,16,40,64]
// run: relax grid=6 group=3 a=[0,0,0,0,0,64] b=[0;6] rounds=0 -> a=[0,0,0,0,0,64] b=[0,0,0,0,0,0]
// run: converge grid=8 group=4 parent=[0,0,1,2,3,4,5,6] more=[0,0] -> parent=[0;8] more=[0,0]
// run: branches grid=4 group=2 y=[1,2,3,4] which=1 -> y=[4,6,8,10]
// run: branches grid=4 group=2 y=[1,2,3,4] which=0 -> y=[5,4,3,2]
// run: branches grid=4 group=2 y=[1,2,3,4] which=2 -> y=[1,2,3,4]
// run: nested grid=4 group=4 y=[0;4] n=3 -> y=[24,48,72,96]
// run: scratch grid=8 group=4 y=[1,2,3,4,5,6,7,8] rounds=2 -> y=[36,36,36,36,36,36,36,36]
// differential: skip: dc_grid_barrier is our own extension, which no other implementation has
// Barriers in loops and branches that all work-items take alike: by arguments, or by what lies in memory.
__kernel void relax(__global int* a, __global int* b, int rounds)
{
    int i = get_global_id(0), n = get_global_size(0);
    for (int k = 0; k < rounds; k++) {
        __global int* from = k & 1 ? b : a;
        __global int* to = k & 1 ? a : b;
        to[i] = i == 0 || i == n - 1 ? from[i] : (from[i - 1] + from[i + 1]) / 2;
        dc_grid_barrier();
    }
}

// Each work-item's parent becomes its parent's, until nothing changes.
__kernel void converge(__global int* parent, __global int* more)
{
    int i = get_global_id(0), round = 0;
    do {
        int old = parent[i], up = parent[old];
        dc_grid_barrier();
        if (i == 0) more[(round + 1) % 2] = 0;
        parent[i] = up;
        if (up != old) more[round % 2] = 1;
        dc_grid_barrier();
    } while (more[round++ % 2]);
    if (i == 0) more[0] = more[1] = 0;
}

// One barrier or another, or a return of all.
__kernel void branches(__global int* y, int which)
{
    int i = get_global_id(0), n = get_global_size(0);
    int own = y[i];
    if (which == 0) {
        own = y[n - 1 - i];
        dc_grid_barrier();
        own += 1;
    } else if (which == 1) {
        own *= 2;
        dc_grid_barrier();
        own += 2;
    } else {
        return;
    }
    y[i] = own;
}

// Loops in loops, and rounds without a barrier.
__kernel void nested(__global int* y, int n)
{
    int i = get_global_id(0);
    for (int a = 0; a < n; a++) {
        if (a == 1)
            continue;
        for (int b = 0;; b++) {
            if (b == 2)
                break;
            int left = a == 0 ? y[(i + 3) % 4] : 0;
            dc_grid_barrier();
            if (a == 0 && b == 0)
                left = 0;
            y[i] += (i + 1) * 6 + (left > 1000000);
            if (a == 2)
                continue;
            dc_grid_barrier();
        }
    }
}

// Local memory is written anew behind each barrier.
__kernel void scratch(__global int* y, int rounds)
{
    __local int part[4];
    int i = get_global_id(0), l = get_local_id(0);
    int own = y[i];
    for (int k = 0; k < rounds; k++) {
        part[l] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        int sum = 0;
        for (int j = 0; j < 4; j++)
            sum += part[j];
        y[i] = sum;
        dc_grid_barrier();
        own = k == 0 ? y[(i + 4) % 8] : sum;
        own = k == 0 ? (own + sum) / 4 : own;
        dc_grid_barrier();
    }
    y[i] = own;
}
