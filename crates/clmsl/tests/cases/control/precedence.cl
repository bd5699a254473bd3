// run: k grid=1 a=[12,10,3,7,-5,2] out=[0;20] -> out=[8,14,14,12,48,15,24,0,0,1,1,1,0,1,3,8,1,2,3,1]
// Operators in each other as macros leave them: C gives them their order, the translation shows it.
__kernel void k(__global const int* a, __global int* out)
{
    __global const int* p = a + 2;
    int x = a[0], y = a[1], z = a[2], w = a[3], n = 0;
    out[0] = x & y | x & w & z;
    out[1] = x & y ^ z & w ^ 5;
    out[2] = x ^ y | x & y;
    out[3] = (x | y) & (y ^ z | x);
    out[4] = x << z - 1 + z - z;
    out[5] = x + z << 0;
    out[6] = x << 1 & (x & z | 24);
    out[7] = x == y | x < y & z > w;
    out[8] = x < y && z < w || x == y;
    out[9] = x == y || z < w && y < x || w == 3;
    out[10] = (x > y) == (w > z);
    out[11] = x > y > 0;
    out[12] = x < y < z == 0;
    out[13] = !x == 0;
    if (n = z) out[14] = n;
    n = 3;
    while (n = n - 1) out[15] = n + 7;
    do n += 4; while (n = n - 1 & ~3 & n < 3);
    out[16] = p - a ? n + 1 : 0;
    for (w = 0, n = 2; n -= 1; w |= n) out[17] = n + 1;
    if (w |= x > y) out[18] = w + 2;
    int8 v = (int8)(0, 1, 2, 3, 4, 5, 6, 7) + n;
    out[19] = any(v >> 1 == 3) && !any(v >> 3 > v);
}
