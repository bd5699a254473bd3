// run: ends grid=3 out=[0,0,0,0,0,0,0,0,0] -> out=[10,1,3,11,2,0,12,3,0]
// A function may end without its value as long as nobody uses it (C99 §6.9.1); C++ does not allow that.
int set(__global int* where, int value) { *where = value + 10; }
int some(__global int* where, int x) { if (x < 0) return 1; *where = x + 1; }
int three(int x) { switch (x) { case 0: return 3; default: while (1) { if (x > 0) return 0; } } }
typedef struct { int a, b; } S;
S none(void) { }

__kernel void ends(__global int* out)
{
    int i = get_global_id(0);
    set(out + 3 * i, i);
    some(out + 3 * i + 1, i);
    out[3 * i + 2] = three(i);
    none();
}
