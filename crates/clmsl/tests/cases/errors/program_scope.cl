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
__constant char* __constant names[][1] = {{"a"}, {0}};
struct Named { int n; __constant char* name; };
__constant struct Named named = { 1, "b" };
__constant int five = 5;
__constant int* __constant offset = &five + get_work_dim();
__constant int* __constant nowhere = (__constant int*)&nowhere;
