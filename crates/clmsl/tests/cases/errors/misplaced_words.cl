// What is missing or does not belong, by its name.
template <typename T> T twice(T x) { return x + x; }
__global__ void add(float* a);
class A { int x; };
void by_reference(int& x) { x = 1; }
__kernel no_type(__global int* a) { a[0] = 1; }
untyped = 3;
__kernel void no_element(__global* a) { }
viod misspelt(int a) { }
int no_braces(int a) return a;
int no_brace(int a)
    a = 1;
}
sizeof(int);
void statements(int x) {
    if (x) else x = 1;
    x = 2; else x = 3;
    float4 v = float4(1, 2, 3, 4);
    x = '';
    unknown y = 1;
    loop(3) x = 4;
}
void not_closed(int x) {
    if (x) { x = 1;
}
void inner(int x) { x = 2; }
