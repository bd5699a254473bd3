// run: transpose grid=1 x=[1,2] -> x=[2,2]
// run: main_ grid=1 x=[1,2] -> x=[1,4]
__kernel void transpose(__global float* x) { x[0] = x[1]; }

__kernel void main_(__global float* x) { x[1] = 4; }
