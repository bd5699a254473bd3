struct Node { char c; int n; int list[3]; float4 v; } __attribute__((packed));
int take(__global const int* p) { return *p; }
__kernel void k(__global struct Node* p, __global int* out)
{
    out[0] = take(&p->n);
    __global int* list = p->list;
    out[1] = list[0] + vload2(0, p->list).x;
    atomic_add(&p->list[1], 2);
    p->v.wz[out[0]] = 1;
    __global short* half_of_it = (__global short*)&p->n;
    out[2] = *(__global uchar*)&p->n;
}
