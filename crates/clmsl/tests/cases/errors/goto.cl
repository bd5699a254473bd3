// What jumps, which Metal does not have, cannot be replaced by.
int large(int x) { if (x) goto out; int big[2000] = { 1 }; x = big[x]; out: return x; }
#define FOUR(n) n##0: x++; n##1: x++; n##2: x++; n##3: x++;
#define SIXTEEN(n) FOUR(n##0) FOUR(n##1) FOUR(n##2) FOUR(n##3)
#define SIXTY_FOUR(n) SIXTEEN(n##0) SIXTEEN(n##1) SIXTEEN(n##2) SIXTEEN(n##3)
int many(int x) {
    if (x) goto last;
    SIXTY_FOUR(l0) SIXTY_FOUR(l1) SIXTY_FOUR(l2) SIXTY_FOUR(l3)
    last: return x;
}
__kernel void k(__global int* a) { a[0] = large(a[0]) + many(a[1]); }
