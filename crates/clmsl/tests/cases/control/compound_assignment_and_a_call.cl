// run: k grid=1 out=[0;3] -> out=[1,1,1]
// Whether the call comes before the place is found or behind it is open; that one element is read and another written is not.
int next(int* i)
{
    *i += 1;
    return 4;
}

kernel void k(global int* out)
{
    int i = 0, j = 0, n = 2;
    int a[2] = { 8, 24 };
    int8 w[2] = { 8, 24 };
    a[i] /= next(&i);
    out[0] = a[0] == 2 && a[1] == 24 || a[0] == 8 && a[1] == 6;
    w[j].s76543210 += next(&j);
    out[1] = w[0].s0 == 12 && w[1].s0 == 24 || w[0].s0 == 8 && w[1].s0 == 28;
    n /= next(&n);
    out[2] = n == 0;
}
