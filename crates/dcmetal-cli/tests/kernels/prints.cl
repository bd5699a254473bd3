__kernel void count(int n) {
    for (int i = 0; i < n; i++) {
        printf("line %d\n", i);
    }
}
