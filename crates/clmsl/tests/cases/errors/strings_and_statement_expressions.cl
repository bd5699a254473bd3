__kernel void k(__global int* a) {
    a[0] = "abc"[1];
    a[1] = ({ 1; });
    asm("nop");
    __private char s[] = "x";
}
