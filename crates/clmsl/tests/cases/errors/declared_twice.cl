typedef int T;
typedef int T;
typedef float T;
typedef struct { int a; } S;
typedef struct { int a; } S;
int f(int a) { return a; }
int g(int a) { return a; }
typedef int f;
enum { A, A };
__constant int c = 1;
__constant int c = 2;
typedef int V;
int V(int a) { return a; }
int h(int a) { return a; }
__constant int h = 3;
__kernel void k(__global int* a) {
    T b;
    float b;
    typedef long L;
    typedef const long L;
    int L;
    { typedef char T; T c = 1; int L = c; }
    a[0] = g(1, 2) + get_global_id();
    switch (a[1]) { case 1.5f: break; }
}
