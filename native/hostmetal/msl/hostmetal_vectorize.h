// Macros that give a scalar function its vector forms: every argument may be a vector, a packed vector or a scalar, as long as one is
// a vector and the others convert to its type (in Metal these are overloads for each vector type). The names in parentheses are
// looked up where they stand: argument-dependent lookup would add metal:: to the candidates in metal::precise.
#define HOSTMETAL_VECTOR1(name)                                                                                                    \
  template <class A, class V = hostmetal::common_vector_t<A>>                                                                      \
  METAL_FUNC constexpr auto name(A a) { return __map([](typename V::value_type x) { return (name)(x); }, V(a)); }
#define HOSTMETAL_VECTOR2(name)                                                                                                    \
  template <class A, class B, class V = hostmetal::common_vector_t<A, B>>                                                          \
  METAL_FUNC constexpr auto name(A a, B b) {                                                                                       \
    typedef typename V::value_type T;                                                                                              \
    return __map([](T x, T y) { return (name)(x, y); }, V(a), V(b));                                                                 \
  }
#define HOSTMETAL_VECTOR3(name)                                                                                                    \
  template <class A, class B, class C, class V = hostmetal::common_vector_t<A, B, C>>                                              \
  METAL_FUNC constexpr auto name(A a, B b, C c) {                                                                                  \
    typedef typename V::value_type T;                                                                                              \
    return __map([](T x, T y, T z) { return (name)(x, y, z); }, V(a), V(b), V(c));                                                   \
  }

// A scalar function of float x (and y, z), and its half and bfloat forms, computed in float and rounded once. The bfloat form is a template so that a
// user's own overload for bfloat is preferred (MLX declares such overloads in namespace metal).
#define HOSTMETAL_ONLY_BFLOAT(B) template <class B, class = enable_if_t<is_same_v<B, bfloat>>>
#define HOSTMETAL_BFLOAT_AND_INTEGER(B, I) template <class B, class I, class = enable_if_t<is_same_v<B, bfloat> && is_integral_v<I>>>
#define HOSTMETAL_FLOAT1(name, value)                                                                                              \
  METAL_FUNC constexpr float name(float x) { return value; }                                                                       \
  METAL_FUNC constexpr half name(half x) { return (half)(name)((float)x); }                                                          \
  HOSTMETAL_ONLY_BFLOAT(B) METAL_FUNC constexpr bfloat name(B x) { return bfloat((name)((float)x)); }                                \
  HOSTMETAL_VECTOR1(name)
#define HOSTMETAL_FLOAT2(name, value)                                                                                              \
  METAL_FUNC constexpr float name(float x, float y) { return value; }                                                              \
  METAL_FUNC constexpr half name(half x, half y) { return (half)(name)((float)x, (float)y); }                                        \
  HOSTMETAL_ONLY_BFLOAT(B) METAL_FUNC constexpr bfloat name(B x, B y) { return bfloat((name)((float)x, (float)y)); }                 \
  HOSTMETAL_BFLOAT_AND_INTEGER(B, I) METAL_FUNC constexpr bfloat name(B x, I y) { return (name)(x, B(y)); }                          \
  HOSTMETAL_BFLOAT_AND_INTEGER(B, I) METAL_FUNC constexpr bfloat name(I x, B y) { return (name)(B(x), y); }                          \
  HOSTMETAL_VECTOR2(name)
#define HOSTMETAL_FLOAT3(name, value)                                                                                              \
  METAL_FUNC constexpr float name(float x, float y, float z) { return value; }                                                     \
  METAL_FUNC constexpr half name(half x, half y, half z) { return (half)(name)((float)x, (float)y, (float)z); }                      \
  HOSTMETAL_ONLY_BFLOAT(B) METAL_FUNC constexpr bfloat name(B x, B y, B z) { return bfloat((name)((float)x, (float)y, (float)z)); }  \
  HOSTMETAL_BFLOAT_AND_INTEGER(B, I) METAL_FUNC constexpr bfloat name(B x, I y, I z) { return (name)(x, B(y), B(z)); }               \
  HOSTMETAL_VECTOR3(name)
