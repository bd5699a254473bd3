__constant int one = 1;
__constant int* __constant first = &one;
__constant int* __constant both[2] = { &one, &one };
int second(__constant int* __constant* list) { return *list[1]; }
__kernel void k(__global int* out)
{
    __constant int* __constant* p = &first;
    out[0] = second(both) + **p;
    p = &both[1];
    p = both + out[0];
}
