// run: pointers grid=1 data=[-1,-2,7,9] out=[0,0,0,0,0,0,0,0,0] n=4 -> out=[7,3,12,21,7,104,255,1,1]
typedef __global int* IntPointer;

int first_positive(__global const int* p, __global const int* end)
{
    while (p != end && *p <= 0)
        ++p;
    return p == end ? -1 : *p;
}

void swap(int* a, int* b) { int t = *a; *a = *b; *b = t; }

__kernel void pointers(__global int* data, IntPointer out, int n)
{
    out[0] = first_positive(data, data + n);
    __global int* last = &data[n - 1];
    out[1] = last - data;
    out[2] = *last + last[-1] + *(data + 1) + 1[data];
    int x = 1, y = 2;
    swap(&x, &y);
    out[3] = x * 10 + y;
    int grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    int (*row)[3] = &grid[1];
    out[4] = (*row)[2] + row[-1][0];
    int* inside = grid[1];
    int** two = &inside;
    **two += 100;
    out[5] = grid[1][0];
    __global uchar* bytes = (__global uchar*)data;
    out[6] = bytes[4] + (bytes < (__global uchar*)last);
    __global void* any = out;
    ((__global int*)any)[7] = last ? (last > data) : 5;
    __global int* nothing = 0;
    out[8] = nothing == 0 && last != NULL;
}
