// run: arrays grid=1 out=[-1,-1,-1,-1,-1,-1,-1,-1,-1] n=6 -> out=[21,20879,6032,63,5,4,5431,4,397]
__kernel void arrays(__global int* out, int n)
{
    int a[5] = { 1, 2 };
    int b[] = { 9, [3] = 7, 8 };
    int c[2][2][2] = { { { 1, 2 }, { 3 } }, { { n } } };
    int d[3][2] = { 1, 2, 3, 4, 5, 6 };
    int e[4] = { 0 };
    float4 v[2] = { (float4)(1.0f), { 1, 2, 3, 4 } };
    struct { int x; int y[2]; } s[2] = { 1, 2, 3, { 4, { 5 } } };
    int one = { 5 };
    out[0] = a[0] + a[1] * 10 + a[4] * 100;
    out[1] = b[0] + b[3] * 10 + b[4] * 100 + sizeof(b) * 1000;
    out[2] = c[0][0][1] + c[0][1][0] * 10 + c[0][1][1] * 100 + c[1][0][0] * 1000;
    out[3] = d[2][1] * 10 + d[1][0];
    out[4] = e[3] + one;
    out[5] = v[1].z + v[0].w;
    out[6] = s[0].x + s[0].y[1] * 10 + s[1].x * 100 + s[1].y[0] * 1000 + s[1].y[1];
    int (*p)[2] = d;
    out[7] = p[1][1];
    struct { int id; short pair[2]; } q = { .pair = 7, 9, .id = 3 };
    out[8] = q.pair[0] + q.pair[1] * 10 + q.id * 100;
}
