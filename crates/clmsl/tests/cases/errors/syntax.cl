__kernel void k(__global int* a) {
    int x = ;
    a[0] = (1 + 2;
    if x > 1 a[1] = 2;
    for (int i = 0; i < 3) a[i] = 1;
    a[2] = 3
    a[3] = 4;
    int 5x = 2;
}
int after(int x) { return x +; }
