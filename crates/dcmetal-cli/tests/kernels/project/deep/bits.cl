struct flags { uint a : 3; };
__kernel void k(__global int *x) { x[0] = 1; }
