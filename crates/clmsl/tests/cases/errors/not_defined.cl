int helper(int x);
__kernel void k(__global int* a) { a[0] = helper(1) + helper(1, 2); }
