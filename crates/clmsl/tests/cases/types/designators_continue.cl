// run: k grid=1 a=[1] out=[0;31] -> out=[7,8,9,0,0,0,1,2,3,0,0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,0,1,2,3,9,8]
// Behind a nested designator the list goes on within the aggregate that it led to (C99 6.7.8 paragraph 17).
typedef struct { int x, y; } P;
typedef struct { P a; int b; } Q;
typedef union { struct { int p, q; } pair; int one; } U;
__constant P tab[3] = {[0].x = 7, 8, 9};

__kernel void k(__global const int* a, __global int* out)
{
    Q q = {.a.x = a[0], 2, 3};
    P p[3] = {[1].x = a[0], 2, 3, 4};
    int m[2][2] = {[0][0] = 5, 6, 7};
    struct { struct { int x, y; }; int b; } r = {.x = a[0], 2, 3};
    Q twice[2] = {[0].a.y = 4, 5, [1].a = {6}, a[0] - 1};
    struct { U u; int c[2]; } s = {.u.pair.p = a[0], 2, 3};
    Q back = {.b = 8, .a.y = 9};
    for (int i = 0; i < 3; i++) {
        out[2 * i] = tab[i].x;
        out[2 * i + 1] = tab[i].y;
    }
    out[6] = q.a.x; out[7] = q.a.y; out[8] = q.b;
    out[9] = p[0].x; out[10] = p[0].y; out[11] = p[1].x; out[12] = p[1].y; out[13] = p[2].x; out[14] = p[2].y;
    out[15] = m[0][0]; out[16] = m[0][1]; out[17] = m[1][0]; out[18] = m[1][1];
    out[19] = r.x; out[20] = r.y; out[21] = r.b;
    out[22] = twice[0].a.y; out[23] = twice[0].b; out[24] = twice[1].a.x; out[25] = twice[1].a.y + twice[1].b;
    out[26] = s.u.pair.p; out[27] = s.u.pair.q; out[28] = s.c[0];
    out[29] = back.a.y; out[30] = back.b;
}
