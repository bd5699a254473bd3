// options: -cl-std=CL2.0
typedef struct { float* p; int n; } Span;
float two(float* a, float* b) { float* best = *a > *b ? a : b; return *best; }
Span make(float* p) { Span s = { p, 1 }; return s; }
__kernel void k(__global float* g, __local float* l) {
  g[0] = two(g, l);
  Span a = make(g);
  Span b = make(l);
}
