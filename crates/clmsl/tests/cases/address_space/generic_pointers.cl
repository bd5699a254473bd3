// options: -cl-std=CL2.0
// A pointer to the generic address space has one in each copy of a helper; questions about it are answered there.
const int program_scope = 40;
static const float table[3] = {1.0f, 2.0f, 3.0f};
__global const int in_global = 2;

int where(__generic int* p) {
    int in_space = 0;
    if (to_global(p)) in_space += 1;
    if (to_local(p)) in_space += 10;
    if (to_private(p) != NULL) in_space += 100;
    if (get_fence(p) & CLK_GLOBAL_MEM_FENCE) in_space += 1000;
    return in_space + *p;
}

__kernel void k(__global int* a) {
    __local int l;
    int p = 3;
    l = 2;
    a[0] = where(a + 4);
    a[1] = where(&l);
    a[2] = where(&p);
    const int* c = &program_scope;
    a[3] = *c + in_global + (int)table[2];
}
// run: k grid=1 a=[0,0,0,0,5] -> a=[1006,12,103,45,5]
