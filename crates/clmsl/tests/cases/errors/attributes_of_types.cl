typedef float __attribute__((ext_vector_type(4))) f4;
typedef __attribute__((vector_size(16))) float v4;
typedef unsigned u8 __attribute__((mode(QI)));
__attribute__((aligned(16))) typedef struct { float a; } H4;
enum __attribute__((packed)) E { A, B };
enum F { C, D } __attribute__((__packed__));
float first(float __attribute__((ext_vector_type(4))) v) { return v; }
float __attribute__((ext_vector_type(4))) second(float x) { return x; }
__attribute__((vector_size(16))) float third(float x);
__kernel void k(__global float* out)
{
    int __attribute__((address_space(3))) shared[4];
    out[0] = sizeof(float __attribute__((ext_vector_type(2))));
}
