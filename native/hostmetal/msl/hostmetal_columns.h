// SIMD-group functions for all 32 lanes at once, as vectors. Included by hostmetal_rendezvous.h.
//
// The LLVM pass keeps what lanes bring to a SIMD-group function in columns when the members of the lane's struct are numbers: 32 of the first member
// behind each other, from 32 times the offset of the second on 32 of that, and so on (native/hostmetal/pass/simdgroups.cpp). It calls the function that
// combines lanes with the address of the columns and no lanes (mask 0). A quad-group function is so called once for all eight quads.
//
// What rounds is done in the same order for a whole SIMD-group on stacks, so that both engines give the same bits; part of a SIMD-group is done lane by
// lane by both.
#pragma once

namespace hostmetal {

template <class T, uint N> struct wide_of { typedef T type __attribute__((ext_vector_type(N))); };
template <class T, uint N> using wide = typename wide_of<T, N>::type;

// Numbers that vectors are made of; bool and bfloat are not.
template <class T>
constexpr bool has_wide = metal::is_arithmetic_v<T> && !metal::is_same_v<T, bool> && !metal::is_same_v<T, metal::bfloat>;

#define HOSTMETAL_COLUMN(columns, type, member) ((decltype(type::member) *)((char *)(columns) + 32 * __builtin_offsetof(type, member)))

template <class T>
METAL_FUNC wide<T, 32> load_wide(const void *column) {
  wide<T, 32> v;
  __builtin_memcpy(&v, column, sizeof v);
  return v;
}
template <class T>
METAL_FUNC void store_wide(void *column, wide<T, 32> v) {
  __builtin_memcpy(column, &v, sizeof v);
}

template <class T, T... I> struct sequence {};
using lanes = __make_integer_seq<sequence, uint, 32>;

// The lane that holds an element of an 8x8 matrix, as its first or second: metal_simdgroup_matrix.
constexpr uint lane_of(uint row, uint column) { return (row & 4) << 2 | (column & 4) << 1 | (row & 3) << 1 | (column & 2) >> 1; }

template <uint... I>
METAL_FUNC wide<uint, 32> counted(sequence<uint, I...>) {
  return (wide<uint, 32>){I...};
}

// All 32, by halves.
template <class Op, class T>
METAL_FUNC T fold_wide(wide<T, 32> v) {
  wide<T, 16> a = Op::wider(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                            __builtin_shufflevector(v, v, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
  wide<T, 8> b = Op::wider(__builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7), __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15));
  wide<T, 4> c = Op::wider(__builtin_shufflevector(b, b, 0, 1, 2, 3), __builtin_shufflevector(b, b, 4, 5, 6, 7));
  wide<T, 2> d = Op::wider(__builtin_shufflevector(c, c, 0, 1), __builtin_shufflevector(c, c, 2, 3));
  return Op::template apply<T>(d[0], d[1]);
}

// Of each quad, from its first lane to its last.
template <class Op, class T, uint... I>
METAL_FUNC wide<T, 32> fold_quads(wide<T, 32> v, sequence<uint, I...>) {
  wide<T, 32> total = Op::wider(__builtin_shufflevector(v, v, (I & 28u)...), __builtin_shufflevector(v, v, (I & 28u | 1u)...));
  total = Op::wider(total, __builtin_shufflevector(v, v, (I & 28u | 2u)...));
  return Op::wider(total, __builtin_shufflevector(v, v, (I & 28u | 3u)...));
}

// One step of a scan: what the lane `Distance` before has so far is added to each lane's.
template <class Op, uint Distance, class T, uint... I>
METAL_FUNC wide<T, 32> scan_step(wide<T, 32> v, sequence<uint, I...>) {
  wide<T, 32> sum = Op::wider(__builtin_shufflevector(v, v, (I >= Distance ? I - Distance : I)...), v);
  return __builtin_shufflevector(sum, v, (I >= Distance ? I : 32 + I)...);
}
template <class T, uint... I>
METAL_FUNC wide<T, 32> behind_one(wide<T, 32> v, wide<T, 32> first, sequence<uint, I...>) {
  return __builtin_shufflevector(v, first, (I ? I - 1 : 32u)...);
}
template <class Op, bool Inclusive, class T>
METAL_FUNC wide<T, 32> scan_wide(wide<T, 32> v) {
  v = scan_step<Op, 1, T>(v, lanes());
  v = scan_step<Op, 2, T>(v, lanes());
  v = scan_step<Op, 4, T>(v, lanes());
  v = scan_step<Op, 8, T>(v, lanes());
  v = scan_step<Op, 16, T>(v, lanes());
  return Inclusive ? v : behind_one<T>(v, (wide<T, 32>)(Op::template identity<T>()), lanes());
}

// Numbers of lanes, below 32, become those lanes' values.
template <class T>
METAL_FUNC void take_from(T *result, const T *value, const uint *from) {
#ifdef __AVX512F__
  if constexpr (has_wide<T> && sizeof(T) == 4) {
    typedef int words __attribute__((vector_size(64)));
    words low, high, at[2], got[2];
    __builtin_memcpy(&low, value, 64);
    __builtin_memcpy(&high, value + 16, 64);
    __builtin_memcpy(at, from, 128);
    got[0] = __builtin_ia32_vpermi2vard512(low, at[0], high);
    got[1] = __builtin_ia32_vpermi2vard512(low, at[1], high);
    __builtin_memcpy(result, got, 128);
    return;
  }
#endif
  for (uint i = 0; i < 32; i++)
    result[i] = value[from[i]];
}

// d = a * b + c, where a lane's elements are two of a row.
template <uint K, uint... I>
METAL_FUNC void product_step(const wide<float, 32> *a, const wide<float, 32> *b, wide<float, 32> *d, sequence<uint, I...>) {
  wide<float, 32> left = __builtin_shufflevector(a[K % 2], a[K % 2], lane_of((I / 4 & 4) + I / 2 % 4, K)...);
  for (uint j = 0; j < 2; j++) {
    wide<float, 32> right = __builtin_shufflevector(b[j], b[j], lane_of(K, (I / 4 & 2) * 2 + I % 2 * 2)...), sum = d[j];
    d[j] = __builtin_elementwise_fma(left, right, sum);
  }
}
METAL_FUNC void product_wide(const wide<float, 32> *a, const wide<float, 32> *b, wide<float, 32> *d) {
  product_step<0>(a, b, d, lanes());
  product_step<1>(a, b, d, lanes());
  product_step<2>(a, b, d, lanes());
  product_step<3>(a, b, d, lanes());
  product_step<4>(a, b, d, lanes());
  product_step<5>(a, b, d, lanes());
  product_step<6>(a, b, d, lanes());
  product_step<7>(a, b, d, lanes());
}

} // namespace hostmetal
