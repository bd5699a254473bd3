// run: enums grid=1 out=[0,0,0,0,0,0] -> out=[4294967296,8,1,1,4,18446744073709551615]
// Without negative enumerators the type is unsigned, and as wide as the largest needs, as Clang has it.
enum Wide { SMALL = 1, LARGE = 1UL << 32 };
typedef enum { A, B, C } Narrow;
typedef enum { MINUS = -1, ZERO } Signed;
__kernel void enums(__global ulong* out)
{
    enum Wide w = LARGE;
    out[0] = w;
    out[1] = sizeof(enum Wide) + sizeof(SMALL) - 4;
    Narrow n = A;
    out[2] = n - 1 > 0;
    Signed s = MINUS;
    out[3] = s < 0;
    out[4] = sizeof(Narrow);
    out[5] = MINUS;
}
