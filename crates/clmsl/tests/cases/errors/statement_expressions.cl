__kernel void k(__global int* a) {
    a[1] = ({ 1; });
    asm("nop");
}
