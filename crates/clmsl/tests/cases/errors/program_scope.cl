int counter;
__global int total = 0;
__local int shared;
const float pi;
const int* pointer = 0;
__constant int missing;
__constant int dynamic = get_work_dim();
extern __constant int elsewhere;
__kernel void k(__global int* a) {
    static int calls = 0; a[0] = calls;
}
__constant char* __constant names[] = {"a", 0};
