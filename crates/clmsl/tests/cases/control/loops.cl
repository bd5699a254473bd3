// run: loops grid=1 out=[0,0,0,0,0,0,0,0,0,0] n=7 -> out=[28,3,-2,30,3,2,80,1,34,10]
__kernel void loops(__global int* out, int n)
{
    int a = 0, b = 0;
    for (int i = 0, j = n; i < j; i++, j--)
        a += i * j;
    for (int i = 0, *p = &b; i < 3; i++)
        *p += i;
    out[0] = a;
    out[1] = b;
    int k = n;
    do
        k -= 3;
    while (k > 0);
    out[2] = k;
    while (1) {
        if (++k > 10)
            break;
        else if (k % 2)
            continue;
        else
            out[3] += k;
    }
    for (;;) {
        if (k-- < 5) break;
    }
    out[4] = k;
    if (n > 100) out[5] = 1; else if (n > 5) out[5] = 2; else out[5] = 3;
    for (int i = 0; i < 2; i++) {
        int i = 40;
        out[6] += i++;
    }
    ;
    { { out[7] = n ? n > 5 ? 1 : 2 : 3; } }
    out[8] = (a++, b += 2, a + b);
    uint m = 5;
    while (m --> 0)
        out[9] += m;
}
