// What SIMD-group and quad-group functions share: the structs that lanes exchange and the functions that combine them. A group of
// `Width` lanes is 32 or 4; in a quad the lanes of a rendezvous are those of one quad of the SIMD-group.
#pragma once
#include "metal_math"
#include "metal_integer"

namespace metal {

// Which types SIMD-group and quad-group functions take (MSL 6.9.2, 6.9.3): scalars of up to 32 bits but bool, and vectors of them.
template <class T>
struct __is_valid_simdgroup_type
    : bool_constant<is_arithmetic_v<make_scalar_t<T>> && !is_same_v<make_scalar_t<T>, bool> && sizeof(make_scalar_t<T>) <= 4> {};

} // namespace metal

namespace hostmetal {

// The lanes of one rendezvous, in order. `first` is the first lane of the group; positions count from there.
template <class Value, uint Width>
struct lanes_of {
  const hm_simd_values *values;
  uint mask, first;
  METAL_FUNC lanes_of(const hm_simd_values *v, uint active) : values(v), mask(active), first((uint)__builtin_ctz(active) & ~(Width - 1)) {}
  METAL_FUNC bool active(uint position) const { return position < Width && (mask >> (first + position) & 1) != 0; }
  METAL_FUNC Value *operator[](uint position) const { return (Value *)values->value[first + position]; }
};

template <class T> struct lane_value { T value, result; };
template <class T> struct lane_shuffle { T value, fill, result; uint argument, modulo; };
struct lane_vote { bool value; uint result, mask, position; };

// The operations of reductions and scans: apply(a, b) and the value of an empty scan.
#define HOSTMETAL_OPERATION(name, expression, empty)                                                                               \
  struct name {                                                                                                                    \
    template <class T> METAL_FUNC static T apply(T a, T b) { return T(expression); }                                               \
    template <class T> METAL_FUNC static T identity() { return T(empty); }                                                         \
  };
HOSTMETAL_OPERATION(op_sum, a + b, 0)
HOSTMETAL_OPERATION(op_product, a * b, 1)
HOSTMETAL_OPERATION(op_min, metal::min(a, b), 0)
HOSTMETAL_OPERATION(op_max, metal::max(a, b), 0)
HOSTMETAL_OPERATION(op_and, a & b, 0)
HOSTMETAL_OPERATION(op_or, a | b, 0)
HOSTMETAL_OPERATION(op_xor, a ^ b, 0)
#undef HOSTMETAL_OPERATION

template <class T, uint Width, class Op>
void combine_reduction(const hm_simd_values *values, uint mask) {
  lanes_of<lane_value<T>, Width> lanes(values, mask);
  uint i = (uint)__builtin_ctz(mask) - lanes.first;
  T total = lanes[i]->value;
  for (i++; i < Width; i++)
    if (lanes.active(i))
      total = Op::template apply<T>(total, lanes[i]->value);
  for (i = 0; i < Width; i++)
    if (lanes.active(i))
      lanes[i]->result = total;
}

template <class T, uint Width, class Op, bool Inclusive>
void combine_scan(const hm_simd_values *values, uint mask) {
  lanes_of<lane_value<T>, Width> lanes(values, mask);
  T total = Op::template identity<T>();
  for (uint i = 0; i < Width; i++) {
    if (!lanes.active(i))
      continue;
    T next = Op::template apply<T>(total, lanes[i]->value);
    lanes[i]->result = Inclusive ? next : total;
    total = next;
  }
}

// Where a lane reads from, by its position and its argument. Positions outside the group leave the lane its own value.
struct from_lane { template <uint Width> METAL_FUNC static uint at(uint, uint lane) { return lane; } };
struct from_xor { template <uint Width> METAL_FUNC static uint at(uint position, uint mask) { return position ^ mask; } };
struct from_above { template <uint Width> METAL_FUNC static uint at(uint position, uint delta) { return delta < Width ? position + delta : Width; } };
struct from_below { template <uint Width> METAL_FUNC static uint at(uint position, uint delta) { return delta <= position ? position - delta : Width; } };
struct from_rotated_above { template <uint Width> METAL_FUNC static uint at(uint position, uint delta) { return (position + delta) % Width; } };
struct from_rotated_below { template <uint Width> METAL_FUNC static uint at(uint position, uint delta) { return (position + Width - delta % Width) % Width; } };

template <class T, uint Width, class From>
void combine_shuffle(const hm_simd_values *values, uint mask) {
  lanes_of<lane_shuffle<T>, Width> lanes(values, mask);
  for (uint i = 0; i < Width; i++) {
    if (!lanes.active(i))
      continue;
    uint source = From::template at<Width>(i, lanes[i]->argument);
    lanes[i]->result = lanes[lanes.active(source) ? source : i]->value;
  }
}

template <class T, uint Width>
void combine_first(const hm_simd_values *values, uint mask) {
  lanes_of<lane_shuffle<T>, Width> lanes(values, mask);
  T value = lanes[(uint)__builtin_ctz(mask) - lanes.first]->value;
  for (uint i = 0; i < Width; i++)
    if (lanes.active(i))
      lanes[i]->result = value;
}

// shuffle_and_fill: the group is cut into runs of `modulo` lanes (a power of two); what is shifted in from outside a run comes from the other
// end of the fill data of that run.
template <class T, uint Width, bool Up>
void combine_fill(const hm_simd_values *values, uint mask) {
  lanes_of<lane_shuffle<T>, Width> lanes(values, mask);
  for (uint i = 0; i < Width; i++) {
    if (!lanes.active(i))
      continue;
    uint run = lanes[i]->modulo, start = i / run * run, within = i % run, delta = lanes[i]->argument % run;
    bool inside = Up ? within >= delta : within + delta < run;
    uint source = start + (Up ? within + run - delta : within + delta) % run;
    if (!lanes.active(source))
      source = i, inside = true;
    lanes[i]->result = inside ? lanes[source]->value : lanes[source]->fill;
  }
}

template <uint Width>
void combine_vote(const hm_simd_values *values, uint mask) {
  lanes_of<lane_vote, Width> lanes(values, mask);
  uint votes = 0, present = 0;
  for (uint i = 0; i < Width; i++)
    if (lanes.active(i)) {
      present |= 1u << i;
      votes |= (lanes[i]->value ? 1u : 0u) << i;
    }
  for (uint i = 0; i < Width; i++)
    if (lanes.active(i)) {
      lanes[i]->result = votes;
      lanes[i]->mask = present;
      lanes[i]->position = i;
    }
}

// One call of these is one call site: they are inlined into the user's code.
template <class T>
METAL_FUNC T reduce(hm_combine combine, T value, uint width) {
  lane_value<T> lane;
  lane.value = value;
  rendezvous(combine, &lane, width);
  return lane.result;
}
template <class T>
METAL_FUNC T shuffle(hm_combine combine, T value, T fill, uint argument, uint modulo, uint width) {
  lane_shuffle<T> lane;
  lane.value = value;
  lane.fill = fill;
  lane.argument = argument;
  lane.modulo = modulo;
  rendezvous(combine, &lane, width);
  return lane.result;
}
// Not the struct itself: clang would load several members as one number, part of which differs between lanes (native/hostmetal/pass/regions.cpp).
struct ballot {
  uint votes, lanes;
  bool first;
};
template <uint Width>
METAL_FUNC ballot vote(bool value) {
  lane_vote lane;
  lane.value = value;
  rendezvous(combine_vote<Width>, &lane, Width);
  ballot all;
  all.votes = lane.result;
  all.lanes = lane.mask;
  all.first = lane.position == (uint)__builtin_ctz(lane.mask);
  return all;
}

} // namespace hostmetal

#define HOSTMETAL_LANE_TYPE(T, name)                                                                                               \
  static_assert(__is_valid_simdgroup_type<T>::value,                                                                               \
                name ": the argument must be an integer or a floating-point number of at most 32 bits, or a vector of these");
#define HOSTMETAL_GROUP_REDUCTION(group, width, name)                                                                              \
  template <class T> METAL_FUNC T group##_##name(T data) {                                                                         \
    HOSTMETAL_LANE_TYPE(T, #group "_" #name)                                                                                       \
    return hostmetal::reduce(hostmetal::combine_reduction<T, width, hostmetal::op_##name>, data, width);                           \
  }
#define HOSTMETAL_GROUP_BITWISE(group, width, name)                                                                                \
  template <class T> METAL_FUNC T group##_##name(T data) {                                                                         \
    static_assert(is_integral_v<make_scalar_t<T>>, #group "_" #name ": the argument must be an integer or a vector of integers");  \
    HOSTMETAL_LANE_TYPE(T, #group "_" #name)                                                                                       \
    return hostmetal::reduce(hostmetal::combine_reduction<T, width, hostmetal::op_##name>, data, width);                           \
  }
#define HOSTMETAL_GROUP_REDUCTIONS(group, width)                                                                                   \
  HOSTMETAL_GROUP_REDUCTION(group, width, sum)                                                                                     \
  HOSTMETAL_GROUP_REDUCTION(group, width, product)                                                                                 \
  HOSTMETAL_GROUP_REDUCTION(group, width, min)                                                                                     \
  HOSTMETAL_GROUP_REDUCTION(group, width, max)                                                                                     \
  HOSTMETAL_GROUP_BITWISE(group, width, and)                                                                                       \
  HOSTMETAL_GROUP_BITWISE(group, width, or)                                                                                        \
  HOSTMETAL_GROUP_BITWISE(group, width, xor)
#define HOSTMETAL_GROUP_SCAN(group, width, name)                                                                                   \
  template <class T> METAL_FUNC T group##_prefix_inclusive_##name(T data) {                                                        \
    HOSTMETAL_LANE_TYPE(T, #group "_prefix_inclusive_" #name)                                                                        \
    return hostmetal::reduce(hostmetal::combine_scan<T, width, hostmetal::op_##name, true>, data, width);                          \
  }                                                                                                                                \
  template <class T> METAL_FUNC T group##_prefix_exclusive_##name(T data) {                                                        \
    HOSTMETAL_LANE_TYPE(T, #group "_prefix_exclusive_" #name)                                                                        \
    return hostmetal::reduce(hostmetal::combine_scan<T, width, hostmetal::op_##name, false>, data, width);                         \
  }
#define HOSTMETAL_GROUP_SCANS(group, width)                                                                                        \
  HOSTMETAL_GROUP_SCAN(group, width, sum)                                                                                          \
  HOSTMETAL_GROUP_SCAN(group, width, product)
#define HOSTMETAL_GROUP_SHUFFLE(group, width, name, from)                                                                          \
  template <class T> METAL_FUNC T group##_##name(T data, ushort argument) {                                                        \
    HOSTMETAL_LANE_TYPE(T, #group "_" #name)                                                                                       \
    return hostmetal::shuffle(hostmetal::combine_shuffle<T, width, hostmetal::from>, data, data, argument, width, width);          \
  }
#define HOSTMETAL_GROUP_FILL(group, width, name, up)                                                                               \
  template <class T> METAL_FUNC T group##_shuffle_and_fill_##name(T data, type_identity_t<T> filling_data, ushort delta) {         \
    HOSTMETAL_LANE_TYPE(T, #group "_shuffle_and_fill_" #name)                                                                      \
    return hostmetal::shuffle(hostmetal::combine_fill<T, width, up>, data, filling_data, delta, width, width);                     \
  }                                                                                                                                \
  template <class T> METAL_FUNC T group##_shuffle_and_fill_##name(T data, type_identity_t<T> filling_data, ushort delta, ushort modulo) { \
    HOSTMETAL_LANE_TYPE(T, #group "_shuffle_and_fill_" #name)                                                                      \
    uint run = modulo == 0 || modulo > width ? width : modulo;                                                                     \
    return hostmetal::shuffle(hostmetal::combine_fill<T, width, up>, data, filling_data, delta, run, width);                       \
  }
#define HOSTMETAL_GROUP_SHUFFLES(group, width)                                                                                     \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle, from_lane)                                                                        \
  HOSTMETAL_GROUP_SHUFFLE(group, width, broadcast, from_lane)                                                                      \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle_xor, from_xor)                                                                     \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle_down, from_above)                                                                  \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle_up, from_below)                                                                    \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle_rotate_down, from_rotated_above)                                                   \
  HOSTMETAL_GROUP_SHUFFLE(group, width, shuffle_rotate_up, from_rotated_below)                                                     \
  HOSTMETAL_GROUP_FILL(group, width, down, false)                                                                                  \
  HOSTMETAL_GROUP_FILL(group, width, up, true)                                                                                     \
  template <class T> METAL_FUNC T group##_broadcast_first(T data) {                                                                \
    HOSTMETAL_LANE_TYPE(T, #group "_broadcast_first")                                                                              \
    return hostmetal::shuffle(hostmetal::combine_first<T, width>, data, data, 0, width, width);                                    \
  }
#define HOSTMETAL_GROUP_VOTES(group, width, vote_type)                                                                             \
  METAL_FUNC vote_type group##_ballot(bool expression) { return vote_type(hostmetal::vote<width>(expression).votes); }             \
  METAL_FUNC vote_type group##_active_threads_mask() { return vote_type(hostmetal::vote<width>(true).lanes); }                     \
  METAL_FUNC bool group##_all(bool expression) {                                                                                   \
    hostmetal::ballot all = hostmetal::vote<width>(expression);                                                                    \
    return all.votes == all.lanes;                                                                                                 \
  }                                                                                                                                \
  METAL_FUNC bool group##_any(bool expression) { return hostmetal::vote<width>(expression).votes != 0; }                           \
  METAL_FUNC bool group##_is_first() { return hostmetal::vote<width>(true).first; }
