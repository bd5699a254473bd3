// run: side grid=4 group=2 y=[0;4] n=5 -> y=[8463,8463,8463,8463]
// run: side grid=4 group=2 y=[0;4] n=2 -> y=[4332,4332,4332,4332]
// run: switches grid=4 group=2 y=[0;4] n=3 -> y=[39,36,36,45]
// run: switches grid=4 group=2 y=[0;4] n=4 -> y=[1040,1036,1036,1048]
// run: early grid=4 group=2 y=[5,6,7,8] n=2 -> y=[-1,-1,5,6]
// run: arrays grid=4 group=2 y=[0;4] -> y=[71,81,91,101]
// run: structs grid=4 group=2 y=[0;4] -> y=[2110,2413,2716,3019]
// run: rounds grid=4 group=2 y=[1,2,3,4] n=9 -> y=[3018,3022,3026,3030]
// run: rounds grid=4 group=2 y=[1,2,3,4] n=1 -> y=[1004,1006,1008,1010]
// run: only grid=4 group=2 y=[1,2,3,4] n=1 -> y=[15,12,9,6]
// run: only grid=4 group=2 y=[1,2,3,4] n=9 -> y=[3,6,9,12]
// run: partly grid=4 group=2 y=[0;4] n=2 -> y=[114,113,116,115]
// run: partly grid=4 group=2 y=[0;4] n=0 -> y=[14,13,16,15]
// run: choices grid=4 group=2 y=[1,2,3,4] z=[0;4] n=1 -> y=[2,3,4,5] z=[237,236,235,234]
// run: choices grid=4 group=2 y=[1,2,3,4] z=[0;4] n=0 -> y=[2,3,4,5] z=[239,238,237,236]
// run: inner_loops grid=4 group=2 y=[1,2,3,4] n=3 -> y=[17,18,19,20]
// run: inner_loops grid=4 group=2 y=[1,2,3,4] n=0 -> y=[8,9,10,11]
// differential: skip: dc_grid_barrier is our own extension, which no other implementation has
// Statements of all kinds around barriers and behind them.

// Conditions that change variables, of which some parts are computed at times only.
__kernel void side(__global int* y, int n)
{
    int i = get_global_id(0), k = 0, m = 0;
    while (k++ < n && (m += 2) < 7) {
        y[i] += 1;
        dc_grid_barrier();
        y[i] += k * 10;
    }
    y[i] += 100 * k + 1000 * m;
}

// Switches without a barrier in a loop that is taken apart, and a break of the loop that all take.
__kernel void switches(__global int* y, int n)
{
    int i = get_global_id(0), k = 0, add = 0;
    for (;;) {
        switch (k) {
        case 0: add = 1; break;
        case 1: add = 10;
        case 2: add += 5; break;
        default: add = 1000;
        }
        switch (i) {
        case 0: y[i] += 1; break;
        case 3: y[i] += 3;
        }
        dc_grid_barrier();
        y[i] += add;
        if (++k == n)
            break;
        dc_grid_barrier();
    }
}

// Work-items that return in one round or another; the others go on.
__kernel void early(__global int* y, int n)
{
    int i = get_global_id(0);
    int v = y[i];
    for (int k = 0; k < n; k++) {
        if (i == k) {
            y[i] = -1;
            return;
        }
        dc_grid_barrier();
        v += k == 0 ? y[0] : y[1];
    }
    y[i] = v;
}

// A pointer that is chosen anew, into arrays that are kept.
__kernel void arrays(__global int* y)
{
    int i = get_global_id(0);
    int a[4] = {1, 2, 3}, b[4];
    int* p = a;
    for (int k = 0; k < 4; k++) {
        *p += i;
        b[k] = *p++ * 2;
    }
    y[i] = a[3];
    dc_grid_barrier();
    p = b + 1;
    *p += y[3 - i];
    p = &a[2];
    p[1] = 50;
    dc_grid_barrier();
    p = a;
    int s = 0;
    for (int k = 0; k < 4; k++)
        s += p[k] + b[k];
    y[i] = s;
}

// Structures in structures, which are assigned, passed and changed by pointers.
struct inner { char c[3]; float f; };
struct outer { struct inner in[2]; int n; };

int total(struct outer o)
{
    return o.in[0].c[0] + o.in[0].c[1] + o.in[1].c[2] + (int)o.in[1].f + o.n;
}

__kernel void structs(__global int* y)
{
    int i = get_global_id(0);
    struct outer o = {{{{1, 2, 3}, 0.5f}}, 7}, copy;
    struct outer* p = &o;
    p->in[1].c[2] = i;
    p->in[1].f = 2.0f * i;
    dc_grid_barrier();
    copy = o;
    copy.n += 1;
    dc_grid_barrier();
    p = &copy;
    p->in[0].c[0] += 10;
    y[i] = total(o) + total(copy) * 100;
}

// `continue` leads to the condition behind the loop.
__kernel void rounds(__global int* y, int n)
{
    int i = get_global_id(0), k = 0;
    do {
        if (k == 1)
            continue;
        y[i] += k + 1;
        dc_grid_barrier();
        if (k == 3)
            break;
        y[i] *= 2;
    } while (++k < n);
    y[i] += 1000 * k;
}

// What is mentioned in one part only, or behind a `return` of all.
__kernel void only(__global int* y, int n)
{
    const int i = get_global_id(0);
    const int once = y[i] * 3;
    __global int* p = y + i;
    const float f = 1.5f;
    *p = once;
    dc_grid_barrier();
    const int late = y[3 - i];
    __global const int* q = y + i;
    dc_grid_barrier();
    if (n > 5)
        return;
    int last = late + (int)(2 * f);
    y[i] = last;
    return;
    y[i] = once + *q;
}

// What gets another value on some ways only is kept.
__kernel void partly(__global int* y, int n)
{
    int i = get_global_id(0), t = 7, u;
    if (i & 1)
        u = 3;
    y[i] = i;
    dc_grid_barrier();
    if (i & 1)
        t = 9;
    else
        u = t;
    for (int k = 0; k < n; k++) {
        if (k == 1)
            break;
        t += u;
        u = 100;
    }
    y[i] += t + u;
}

// Switches with `break`, `continue` and no `break` behind a barrier.
__kernel void choices(__global int* y, __global int* z, int n)
{
    int i = get_global_id(0), t = 2, r = 0;
    y[i] += 1;
    dc_grid_barrier();
    for (int k = 0; k < 5; k++) {
        switch (k + n) {
        case 1: t = 10; continue;
        case 2: r += t; break;
        case 4: t = 1;
        default: r += 2 * t;
        }
        if (k == 3)
            break;
        r += 100;
    }
    z[i] = r + y[3 - i];
}

// Loops that are left before and after a variable gets another value.
__kernel void inner_loops(__global int* y, int n)
{
    int i = get_global_id(0), t = 7;
    dc_grid_barrier();
    for (;;) {
        if (n == 0)
            break;
        do {
            if (n > 1) {
                n--;
                continue;
            }
            t = 5;
        } while (t == 7 && n > 0);
        if (t == 5) {
            t += 10;
            break;
        }
    }
    y[i] += t + n;
}
