// options: -cl-std=CL3.0
struct Node { char c; __global int* next; } __attribute__((packed));
#pragma pack(push, 1)
struct Counter { char c; atomic_int count[2]; };
#pragma pack(pop)
__kernel void k(__global struct Counter* p, __global int* out)
{
    struct Node node = { 1, out };
    *node.next = p->c;
}
