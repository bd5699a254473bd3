#pragma pack(3)
#pragma pack push
#pragma pack(drop)
#pragma pack(push, 2, 4)
#pragma pack(pop)
#pragma options align=packed
struct Bad { char c; int n __attribute__((aligned(3))); };
__kernel void k(__global struct Bad* p, __global int* out) { out[0] = p->n; }
