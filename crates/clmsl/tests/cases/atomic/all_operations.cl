// run: atomics grid=4 group=4 a=[0,0,0,0,0,0,9,44,7,8] u=[15,0,0,0,500,0] f=[1.25,0] l=local:16 order=[0,0,0,0,0] -> a=[6,-8,4,-4,-3,3,9,55,70,8] u=[0,15,15,3,100,12] f=[2.5,1.25] order=[44,7,8,6,4]
__kernel void atomics(__global int* a, __global uint* u, __global float* f, __local int* l, __global int* order)
{
    __local uint shared;
    int i = get_global_id(0);
    if (i == 0) { l[0] = 0; shared = 0; }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&a[0], i);
    atomic_sub(a + 1, 2);
    atomic_inc(&a[2]);
    atomic_dec(&a[3]);
    atomic_min(&a[4], -i);
    atomic_max(&a[5], i);
    atomic_and(&u[0], ~(1u << i));
    atomic_or(&u[1], 1u << i);
    atomic_xor(&u[2], 1u << i);
    atomic_max(&u[3], (uint)i);
    atomic_min(&u[4], 100u + i);
    atom_add(&u[5], 3u);
    atomic_cmpxchg(&a[6], i, i + 1);
    if (i == 2) {
        order[0] = atomic_xchg(&a[7], 55);
        f[1] = atomic_xchg(&f[0], 2.5f);
        order[1] = atomic_cmpxchg(&a[8], 7, 70);
        order[2] = atomic_cmpxchg(&a[9], 7, 70);
    }
    atomic_add(l, i);
    atomic_inc(&shared);
    mem_fence(CLK_LOCAL_MEM_FENCE);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) { order[3] = l[0]; order[4] = shared; }
}
