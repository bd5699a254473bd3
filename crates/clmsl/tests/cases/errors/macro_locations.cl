#define BAD(x) undeclared_##x + 1
__kernel void k(__global int* a) {
	a[0] = BAD(y);
}
