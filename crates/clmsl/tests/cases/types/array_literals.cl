typedef struct { int a; float4 v; } Pair;

int sum(const int* p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}

int first(const Pair* pair) { return pair->a + (int)pair->v.w; }

__kernel void k(__global int* out, int i)
{
    out[0] = sum((int[]){1, 2, i}, 3);
    out[1] = (const int[4]){4, 5}[i + 1];
    int* p = (int[]){[2] = 9, [0] = 7, 8};
    p[1] += 30;
    out[2] = p[0] * 10000 + p[1] * 100 + p[2];
    out[3] = sizeof((int[]){1, 2, 3}) + sizeof *(char[5]){0};
    float4* q = &(float4){1, 2, 3, i};
    q->y += 5;
    out[4] = (int)(q->y * 10 + q->w);
    out[5] = first(&(Pair){i, (float4)(8)}) + (Pair){3, (float4)(i)}.a;
    out[6] = (char[]){"abc"}[i];
    out[7] = (int[2][2]){{1, 2}, {3, 4}}[i][1];
    out[8] = i ? *(int[]){i, 2} : 0;
    // Each time anew.
    for (int j = 0; j < 3; j++) {
        int* fresh = (int[]){j, 0};
        fresh[1]++;
        out[9] += fresh[0] + fresh[1];
    }
    out[10] = (__constant char*[]){"ab", "cd"}[i][1];
    out[11] = (int)((float8[]){(float8)(2), (float8)(3)}[i].s7);
}
// run: k grid=1 out=[0;12] i=1 -> out=[4,0,73809,13,71,12,98,4,1,6,100,3]
// run: k grid=1 out=[0;12] i=0 -> out=[3,5,73809,13,70,11,97,2,0,6,98,2]
