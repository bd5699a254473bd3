typedef union { float f; int n; } U;
struct Packed { char c; int n; } __attribute__((packed));
struct Anonymous { struct { int x; }; int z; };
__kernel void k(__global int* a) { U u = { .n = 3 }; a[0] = u.n; }
