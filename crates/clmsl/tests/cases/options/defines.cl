// options: -DN=4 -D FLAG -D 'SCALE(x)=(x)*3'
// run: fill_float grid=2 out=[0,0] -> out=[22,22]
// run: fill_int grid=2 out=[0,0] -> out=[22,22]
#ifndef N
#error "N is needed"
#endif
#define CONCAT(a, b) a##b
#define SQUARE(x) ((x) * (x))
#if defined(FLAG) && N > 3
#define RESULT SQUARE(N)
#else
#define RESULT -1
#endif
#define KERNEL(name, type)                                   \
    __kernel void CONCAT(name, type)(__global type* out)     \
    {                                                        \
        out[get_global_id(0)] = RESULT + SCALE(2);           \
    }

KERNEL(fill_, float)
KERNEL(fill_, int)
