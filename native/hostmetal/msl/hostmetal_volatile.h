// Operators of volatile vectors, packed vectors, matrices and bfloat: those of the values that the objects hold. In Metal an operand that is an object
// stands for its value; for clang these types are classes, whose operators take references to what is not volatile. Included by metal_matrix.
#pragma once

namespace metal {

#define HOSTMETAL_OPERATOR(op)                                                                                                     \
  template <class A, class B, class = enable_if_t<hostmetal::is_volatile_value<A> || hostmetal::is_volatile_value<B>>>             \
  METAL_FUNC constexpr auto operator op(A &&a, B &&b) { return hostmetal::loaded_t<A>(a) op hostmetal::loaded_t<B>(b); }
HOSTMETAL_OPERATOR(+)
HOSTMETAL_OPERATOR(-)
HOSTMETAL_OPERATOR(*)
HOSTMETAL_OPERATOR(/)
HOSTMETAL_OPERATOR(%)
HOSTMETAL_OPERATOR(&)
HOSTMETAL_OPERATOR(|)
HOSTMETAL_OPERATOR(^)
HOSTMETAL_OPERATOR(<<)
HOSTMETAL_OPERATOR(>>)
HOSTMETAL_OPERATOR(==)
HOSTMETAL_OPERATOR(!=)
HOSTMETAL_OPERATOR(<)
HOSTMETAL_OPERATOR(>)
HOSTMETAL_OPERATOR(<=)
HOSTMETAL_OPERATOR(>=)
HOSTMETAL_OPERATOR(&&)
HOSTMETAL_OPERATOR(||)
#undef HOSTMETAL_OPERATOR

#define HOSTMETAL_OPERATOR(op)                                                                                                     \
  template <class A, class = enable_if_t<hostmetal::is_volatile_value<A>>>                                                         \
  METAL_FUNC constexpr auto operator op(A &a) { return op hostmetal::loaded_t<A>(a); }
HOSTMETAL_OPERATOR(+)
HOSTMETAL_OPERATOR(-)
HOSTMETAL_OPERATOR(~)
HOSTMETAL_OPERATOR(!)
#undef HOSTMETAL_OPERATOR

} // namespace metal
