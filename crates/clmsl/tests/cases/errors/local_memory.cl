void helper(void) { __local int x; x = 1; }
__kernel void k(__global int* a) {
    __local int initialised = 5;
    __local int b[];
    helper();
}
