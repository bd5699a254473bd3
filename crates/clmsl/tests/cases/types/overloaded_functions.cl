// run: overloads grid=1 x=[2,3] out=[0;16] -> x=[2,3] out=[1,2,3,4,1,2,5,6,7,8,9,10,11,12,1,13]
// run: builtins grid=1 sums=[4294967295,7] out=[0;4] -> sums=[1,8] out=[5,24,16,3]
// Functions of one name with the attribute overloadable, told apart as C++ does: by equal types, promotions, address
// spaces and qualifiers; beside built-in functions of the name too.
#define OVERLOAD __attribute__((overloadable))

int OVERLOAD kind(int x) { return 1; }
int OVERLOAD kind(float x) { return 2; }
OVERLOAD int kind(float4 x) { return 3; }
int kind(uint2 x) __attribute__((__overloadable__));
int OVERLOAD kind(int x, int y) { return 4; }
int OVERLOAD kind(__global float* p) { return 5; }
int OVERLOAD kind(const __global float* p) { return 6; }
int OVERLOAD kind(__local float* p) { return 7; }
int OVERLOAD kind(float* p) { return 8; }
int OVERLOAD kind(uint2 x) { return 9; }
typedef struct { int a; } Pair;
int OVERLOAD kind(Pair p) { return 10; }

int OVERLOAD wide(long x) { return 11; }
int OVERLOAD wide(int x, long y) { return 0; }
int OVERLOAD order(short x, int y) { return 12; }
int OVERLOAD order(int x, float y) { return 0; }
int OVERLOAD later(float x) { return 13; }
int OVERLOAD later(__constant char* x) { return 0; }

__kernel void overloads(__global float* x, __global int* out)
{
    __local float l[1];
    float p[1];
    const __global float* c = x;
    Pair pair = { 1 };
    short s = 1;
    out[0] = kind(1);
    out[1] = kind(1.0f);
    out[2] = kind((float4)(1.0f));
    out[3] = kind(1, 2);
    out[4] = kind(s);
    out[5] = kind(x[0]);
    out[6] = kind(x);
    out[7] = kind(c);
    out[8] = kind(l);
    out[9] = kind(p);
    out[10] = kind((uint2)(1, 2));
    out[11] = kind(pair);
    out[12] = wide(1);
    out[13] = order(s, 2);
    out[14] = kind((uchar)1);
    out[15] = later(2);
}

// A sum of 64 bits out of two of 32, as programs have it that know devices without.
ulong OVERLOAD atom_add(volatile __global ulong* p, ulong value)
{
    volatile __global uint* word = (volatile __global uint*)p;
    uint lower = value;
    uint upper = value >> 32;
    uint old = atomic_add(&word[0], lower);
    upper += (ulong)lower + old >= 0x100000000 ? 1 : 0;
    if (upper != 0) {
        atomic_add(&word[1], upper);
    }
    return 0;
}

float OVERLOAD length(int a, int b, int c) { return 5; }
int OVERLOAD max(Pair a, Pair b) { return a.a > b.a ? a.a : b.a; }

__kernel void builtins(__global uint* sums, __global int* out)
{
    atom_add((__global ulong*)sums, 2 + 4294967296);
    sums[1] -= 1;
    out[0] = (int)length(1, 2, 3);
    out[1] = max(max(7, 24), 8);
    out[2] = max((Pair){ 16 }, (Pair){ 1 });
    out[3] = (int)length((float2)(3.0f, 0.0f));
}
