// options: -cl-std=CL2.0
// run: k grid=1 group=1 g=[3,5] l=local:16 -> g=[35,5]
typedef struct { float* p; int n; } Span;
float at(float* a, int n) { float* p = a; p += n; float** q = &p; return **q; }
float two(float* a, float* b) { float* best = *a > *b ? a : b; return *best; }
float via(float* x, float* y) { return at(x, 1) + at(y, 0); }
float span(Span s) { return s.p[s.n]; }
Span make(float* p) { Span s = { p, 1 }; return s; }
__kernel void k(__global float* g, __local float* l) {
  float own[2] = {1,2};
  l[0] = 7;
  l[1] = 11;
  g[0] = via(g, l) + via(l, own) + via(own, g) + two(g, g + 1) + two(own, own);
  g[1] = span(make(g)); 
}
