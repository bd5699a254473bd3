// <simd/simd.h>: the names of the vector and matrix types that Metal sources share with C (simd_float4, vector_float4, simd::float4, ...).
// The C functions of that header are not part of MSL.
#if !defined(HOSTMETAL_SIMD_SIMD_H) && defined(HOSTMETAL_DECLARATIONS)
#define HOSTMETAL_SIMD_SIMD_H
#include "../metal_matrix"

namespace simd {
using namespace metal;
}

#define HOSTMETAL_SIMD_VECTORS(T, metal_name)                                                                                      \
  typedef metal::metal_name##2 simd_##T##2, vector_##T##2;                                                                         \
  typedef metal::metal_name##3 simd_##T##3, vector_##T##3;                                                                         \
  typedef metal::metal_name##4 simd_##T##4, vector_##T##4;                                                                         \
  typedef metal::packed_##metal_name##2 simd_packed_##T##2;                                                                        \
  typedef metal::packed_##metal_name##4 simd_packed_##T##4;
HOSTMETAL_SIMD_VECTORS(char, char)
HOSTMETAL_SIMD_VECTORS(uchar, uchar)
HOSTMETAL_SIMD_VECTORS(short, short)
HOSTMETAL_SIMD_VECTORS(ushort, ushort)
HOSTMETAL_SIMD_VECTORS(int, int)
HOSTMETAL_SIMD_VECTORS(uint, uint)
HOSTMETAL_SIMD_VECTORS(long, long)
HOSTMETAL_SIMD_VECTORS(ulong, ulong)
HOSTMETAL_SIMD_VECTORS(half, half)
HOSTMETAL_SIMD_VECTORS(float, float)
#undef HOSTMETAL_SIMD_VECTORS
#define HOSTMETAL_SIMD_MATRICES(T, C)                                                                                              \
  typedef metal::T##C##x2 simd_##T##C##x2, matrix_##T##C##x2;                                                                      \
  typedef metal::T##C##x3 simd_##T##C##x3, matrix_##T##C##x3;                                                                      \
  typedef metal::T##C##x4 simd_##T##C##x4, matrix_##T##C##x4;
HOSTMETAL_SIMD_MATRICES(float, 2)
HOSTMETAL_SIMD_MATRICES(float, 3)
HOSTMETAL_SIMD_MATRICES(float, 4)
HOSTMETAL_SIMD_MATRICES(half, 2)
HOSTMETAL_SIMD_MATRICES(half, 3)
HOSTMETAL_SIMD_MATRICES(half, 4)
#undef HOSTMETAL_SIMD_MATRICES

#endif
