#define OVERLOAD __attribute__((overloadable))
int OVERLOAD f(int x, float y) { return 1; }
int OVERLOAD f(float x, int y) { return 2; }
int OVERLOAD f(int a, float b) { return 3; }
int f(int2 x) { return 4; }

int g(int x) { return 1; }
int g(int x) { return 2; }
int h(int x) { return 1; }
int h(float x) { return 2; }

int OVERLOAD returns(int x);
float OVERLOAD returns(int x);

int OVERLOAD min(float x, uint y) { return 1; }
int OVERLOAD at(__global int* p) { return *p; }
int OVERLOAD at(__local int* p) { return *p; }
int both(int* p) { return at(p); }

__kernel void OVERLOAD k(__global int* out)
{
    out[0] = f(1, 2);
    out[1] = f(out);
    out[2] = min(1, 2.0f);
    out[3] = g(1) + h(1) + both(out);
}
__kernel void OVERLOAD k(__global float* out) {}
