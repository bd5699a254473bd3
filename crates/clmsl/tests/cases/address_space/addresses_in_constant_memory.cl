// run: k grid=5 out=[0;50] -> out=[97,3,10,1,2,30,7,1,98,8,98,2,20,1,2,30,7,1,98,8,0,1,30,1,2,30,7,1,98,8,99,0,1,1,2,30,7,1,98,8,0,1,1,1,2,30,7,1,98,8]
// run: print grid=2 out=[0;2] -> prints_lines="one\_b\ntwo\_a\n"
// Addresses that never change take the place of the variables that hold them.
__constant int table[4] = { 10, 20, 30, 40 };
__constant char* __constant names[5] = { "a", "bc", 0, "cde" };
__constant int* __constant second = &table[1];
__constant int* __constant third = second + 1;
__constant int* __constant order[] = { table, second, third, 0 };
__constant float4 vectors[2] = { (float4)(1), (float4)(5, 6, 7, 8) };
__constant float4* __constant last = vectors + 1;
typedef struct { int n; short s[2]; } Pair;
__constant Pair pairs[] = { { 1, { 2, 3 } }, { 4, { 5, 1 } } };
__constant short* __constant inner = &pairs[1].s[1];
__constant void* __constant anything = pairs;

int first(__constant char* text) { return text ? text[0] : 0; }
int length(__constant char* text) { int n = 0; while (text[n]) n++; return n; }

__kernel void k(__global int* out)
{
    size_t i = get_global_id(0) % 5;
    __global int* o = out + 10 * get_global_id(0);
    __constant char* one = names[i];
    o[0] = first(one);
    o[1] = i < 4 ? 3 - (int)i : 1;
    int j = 0;
    __constant int* p = order[(get_global_id(0) + j++) & 3];
    o[2] = p ? *p : 1;
    o[3] = j;
    o[4] = length(names[1]);
    o[5] = *third;
    o[6] = (int)(*last).z;
    o[7] = *inner;
    o[8] = names[1][0];
    o[9] = sizeof(inner);
    if (i == 4) { o[2] = 1; }
    if (*names != names[0] || *(names + i) != one || second == third || ((__constant Pair*)anything)[1].s[1] != 1) o[3] = 9;
}

__kernel void print(__global int* out)
{
    __constant char* const numbers[] = { "one", "two" };
    size_t i = get_global_id(0);
    printf("%s %s\n", numbers[i & 1], i ? "a" : "b");
}
