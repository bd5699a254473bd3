struct Anonymous { struct { int x; }; int z; float x; };
struct Packed { char c; int n; } __attribute__((packed));
struct Declares { struct Packed; int z; };
__kernel void k(__global int* a) { struct Declares d = { 1 }; a[0] = d.z; }
