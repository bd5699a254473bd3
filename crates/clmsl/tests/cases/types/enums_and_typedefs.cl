// run: enums grid=1 out=[0,0,0,0,0,0] f=[0,0] -> out=[4906,17,20,42,4464,48] f=[8,3]
enum Mode { ADD, SUBTRACT = 5, MULTIPLY, LAST = MULTIPLY + 10 };
typedef enum { OFF, ON } Switch;
typedef float Row[3];
typedef unsigned int word;
typedef struct pair_tag pair;
struct pair_tag { word a, b; };

int apply(enum Mode mode, int x, int y)
{
    switch (mode) {
    case ADD: return x + y;
    case SUBTRACT: return x - y;
    case MULTIPLY: return x * y;
    default: return LAST;
    }
}

__kernel void enums(__global int* out, __global float* f)
{
    Switch state = ON;
    enum Mode mode = SUBTRACT;
    out[0] = apply(ADD, 2, 3) * 1000 + apply(mode, 2, 3) * 100 + apply(6, 2, 3);
    out[1] = apply(LAST, 0, 0) + state;
    Row rows[2] = { { 1, 2, 3 }, 4, 5 };
    f[0] = rows[1][1] + rows[0][2] + rows[1][2];
    f[1] = sizeof(Row) / sizeof(rows[0][0]);
    pair p = { 3, 4 };
    out[2] = p.a * p.b + sizeof(pair);
    enum { LOCAL = 42 };
    out[3] = LOCAL;
    typedef short small;
    small s = 70000;
    out[4] = s;
    unsigned char c = 300;
    long int l = 1L << 35;
    unsigned u = 3;
    signed short int t = -3;
    out[5] = c + (l >> 33) + u + t;
}
