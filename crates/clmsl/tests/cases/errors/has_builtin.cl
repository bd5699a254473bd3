#if __has_builtin(1)
#endif
#if __has_builtin(
#endif
#if __has_builtin(a b)
#endif
#if has_builtin(a)
#endif
__kernel void k(__global int* a) { a[0] = 1; }
