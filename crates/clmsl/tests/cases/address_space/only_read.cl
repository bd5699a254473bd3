// run: direct grid=2 x=[1,2] y=[10,20] -> y=[11,22]
// run: by_variable grid=1 x=[1,2,3] n=3 out=[0] -> out=[6]
// run: by_helpers grid=2 x=[1,2] w=[5,6] out=[0,0] -> out=[3,3] w=[6,7]
// run: from_result grid=1 x=[1,2,3,4] y=[7,8,9,10] out=[0,0] -> x=[1,2,3,4] y=[7,8,19,10] out=[3,19]
// run: chosen grid=2 x=[1,2] y=[3,4] -> x=[101,2] y=[3,104]
// run: by_functions grid=4 group=4 x=[1,2,3,4] a=[5] b=[6] whole=[0] t=local:16 out=[0;5] -> a=[12] b=[6] whole=[2] out=[1,2,3,4,10]
// Pointers to global memory that nothing is written through become pointers to `const`.
__kernel void direct(__global float* x, __global float* y) { y[get_global_id(0)] += x[get_global_id(0)]; }

__kernel void by_variable(__global int* x, int n, __global int* out)
{
    __global int* end = x + n;
    int sum = 0;
    for (__global int* p = x; p != end; ++p) sum += *p;
    *out = sum;
}

int first_two(__global int* p) { return p[0] + p[1]; }
void increase(__global int* p) { p[get_global_id(0)]++; }

__kernel void by_helpers(__global int* x, __global int* w, __global int* out)
{
    out[get_global_id(0)] = first_two(x);
    increase(w);
}

// The result is written through in one place, and only read in the other.
__global int* third(__global int* p) { return p + 2; }

__kernel void from_result(__global int* x, __global int* y, __global int* out)
{
    if (get_global_id(0)) return;
    *third(y) += 10;
    out[0] = *third(x);
    out[1] = *third(y);
}

__kernel void chosen(__global int* x, __global int* y)
{
    __global int* p = get_global_id(0) ? y : x;
    p[get_global_id(0)] += 100;
}

__kernel void by_functions(__global int* x, __global int* a, __global int* b, __global float* whole, __local int* t, __global int* out)
{
    event_t copied = async_work_group_copy(t, x, 4, 0);
    wait_group_events(1, &copied);
    out[get_local_id(0)] = t[get_local_id(0)];
    if (get_local_id(0) == 0) {
        atomic_add(a, 1 + *b);
        int4 v = vload4(0, x);
        out[4] = v.x + v.y + v.z + v.w;
        fract(2.5f, whole);
    }
}
