struct S { int a[1 << 30]; };
__kernel void k(__global int* a) {
    int b[4294967296];
    int c[65536][65536][65536];
    int d[2147483647 + 1];
    int e[1000000] = { [999999] = 1 };
    switch (a[0]) {
    case 1:;
        int f[1000000000] = { 0 };
    }
}
