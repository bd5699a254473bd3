// Jumps that Metal, which has no goto, cannot be given by flags and loops.
int into(int x) { if (x > 2) goto inner; while (x < 9) { x++; inner: x += 2; } return x; }
int two_entries(int x) { if (x) goto middle; start: x += 1; middle: x += 2; if (x < 9) goto start; return x; }
int labels(int x) { switch (x) { case 1: if (x) goto end; case 2: x = 5; end: x++; } return x; }
int back(int x) { switch (x) { case 0: again: x++; case 1: if (x < 3) goto again; } return x; }
__kernel void k(__global int* a) { a[0] = into(a[0]) + two_entries(a[1]) + labels(a[2]) + back(a[3]); }
