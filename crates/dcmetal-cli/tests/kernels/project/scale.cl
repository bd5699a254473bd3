#ifndef FACTOR
#define FACTOR 2
#endif
#define F_(x) x##.0f
#define F(x) F_(x)
__kernel void scale(__global float *x) { x[get_global_id(0)] *= F(FACTOR); }
