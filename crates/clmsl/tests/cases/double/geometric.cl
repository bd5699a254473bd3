// options: --fp64 emulate
// run: sizes grid=9 v=[3,4,0,12,4.149515568880993e+180,-4.149515568880993e+180,4.149515568880993e+180,4.149515568880993e+180,0,-0.0,0,0,2.7997908555096566e-301,3.7330544740128755e-301,0,-1.1199163422038627e-300,inf,1,-2,-0.0,inf,inf,-inf,inf,1,nan,2,3,5e-324,0,0,0,2,2,2,2] r=[0;27] -> v=[0.23076923076923078,0.3076923076923077,0,0.9230769230769231,0.5,-0.5,0.5,0.5,0,-0.0,0,0,0.23076923076923078,0.3076923076923077,0,-0.9230769230769231,1,0,-0.0,-0.0,0.5,0.5,-0.5,0.5,nan,nan,nan,nan,1,0,0,0,0.5,0.5,0.5,0.5] r=[5,5,13,5.8683011947898095e+180,7.187171792099953e+180,8.299031137761986e+180,0,0,0,4.666318092516094e-301,4.666318092516094e-301,1.2132427040541845e-300,inf,inf,inf,inf,inf,inf,nan,nan,nan,5e-324,5e-324,5e-324,2.8284271247461903,3.4641016151377544,4]
// run: pairs grid=2 a=[1,2,3,4,-0.5,0.25,8,1] b=[4,-5,6,0.5,2,16,-1,3] c=[0;6] r=[0;16] -> a=[27,6,-13,0,-128.25,15.5,-8.5,0] c=[28,7,-12,-127.25,16.5,-7.5] r=[-6,12,14,4,7,0,3,8.18535277187245,3,-5,-2,-1,15.75,-1,8,18.31154007722999]
// differential: given: sums and quotients come out in the order of each side
// Geometric functions on double, without overflow and underflow on the way.
__kernel void sizes(__global double4* v, __global double* r) {
  size_t i = get_global_id(0);
  r[3 * i] = length(v[i].xy);
  r[3 * i + 1] = length(v[i].xyz);
  r[3 * i + 2] = length(v[i]);
  v[i] = normalize(v[i]);
}

__kernel void pairs(__global double4* a, __global const double4* b, __global double* c, __global double* r) {
  size_t i = get_global_id(0);
  double4 x = a[i], y = b[i];
  r[8 * i] = dot(x.xy, y.xy);
  r[8 * i + 1] = dot(x.xyz, y.xyz);
  r[8 * i + 2] = dot(x, y);
  r[8 * i + 3] = dot(x.x, y.x);
  r[8 * i + 4] = distance(x.y, y.y);
  r[8 * i + 5] = normalize(x.x - 1.0);
  r[8 * i + 6] = length(x.z);
  r[8 * i + 7] = distance(x.xyz, y.xyz);
  a[i] = cross(x, y);
  vstore3(cross(x.xyz, y.xyz) + 1.0, i, c);
}
