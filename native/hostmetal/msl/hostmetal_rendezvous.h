// What SIMD-group and quad-group functions share: the structs that lanes exchange and the functions that combine them. A group of
// `Width` lanes is 32 or 4; in a quad the lanes of a rendezvous are those of one quad of the SIMD-group.
#pragma once
#include "metal_math"
#include "metal_integer"
#include "hostmetal_columns.h"

namespace metal {

// Which types SIMD-group and quad-group functions take (MSL 6.9.2, 6.9.3): scalars of up to 32 bits but bool, and vectors of them.
template <class T>
struct __is_valid_simdgroup_type
    : bool_constant<is_arithmetic_v<make_scalar_t<T>> && !is_matrix_v<T> && !is_same_v<make_scalar_t<T>, bool> && sizeof(make_scalar_t<T>) <= 4> {};

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

// The operations of reductions and scans: apply(a, b), the same for vectors, and the value of an empty scan.
#define HOSTMETAL_OPERATION(name, expression, wider_, empty)                                                                       \
  struct name {                                                                                                                    \
    template <class T> METAL_FUNC static T apply(T a, T b) { return T(expression); }                                               \
    template <class V> METAL_FUNC static V wider(V a, V b) { return wider_; }                                                      \
    template <class T> METAL_FUNC static T identity() { return T(empty); }                                                         \
  };
HOSTMETAL_OPERATION(op_sum, a + b, a + b, 0)
HOSTMETAL_OPERATION(op_product, a * b, a * b, 1)
HOSTMETAL_OPERATION(op_min, metal::min(a, b), __builtin_elementwise_min(a, b), 0)
HOSTMETAL_OPERATION(op_max, metal::max(a, b), __builtin_elementwise_max(a, b), 0)
HOSTMETAL_OPERATION(op_and, a & b, a & b, 0)
HOSTMETAL_OPERATION(op_or, a | b, a | b, 0)
HOSTMETAL_OPERATION(op_xor, a ^ b, a ^ b, 0)
#undef HOSTMETAL_OPERATION

// A function that combines lanes is called with some lanes, or with columns and none: hostmetal_columns.h.
template <uint Width>
METAL_FUNC bool is_whole(uint mask) {
  return Width == 32 && mask == ~0u;
}

template <class T, uint Width, class Op>
METAL_FUNC void reduce_columns(T *result, const T *value) {
  if constexpr (has_wide<T>) {
    wide<T, 32> v = load_wide<T>(value);
    if constexpr (Width == 32)
      store_wide<T>(result, (wide<T, 32>)(fold_wide<Op, T>(v)));
    else
      store_wide<T>(result, fold_quads<Op, T>(v, hostmetal::lanes()));
  } else {
    __builtin_trap(); // such values are no numbers in memory, and so in no columns
  }
}

template <class T, uint Width, class Op>
void combine_reduction(const hm_simd_values *values, uint mask) {
  typedef lane_value<T> value;
  if (mask == 0)
    return reduce_columns<T, Width, Op>(HOSTMETAL_COLUMN(values, value, result), HOSTMETAL_COLUMN(values, value, value));
  lanes_of<lane_value<T>, Width> lanes(values, mask);
  uint i = (uint)__builtin_ctz(mask) - lanes.first;
  T total = lanes[i]->value;
  if constexpr (has_wide<T>) {
    if (is_whole<Width>(mask)) {
      wide<T, 32> all;
      for (i = 0; i < 32; i++)
        all[i] = lanes[i]->value;
      total = fold_wide<Op, T>(all);
    }
  }
  if (!has_wide<T> || !is_whole<Width>(mask))
    for (i++; i < Width; i++)
      if (lanes.active(i))
        total = Op::template apply<T>(total, lanes[i]->value);
  for (i = 0; i < Width; i++)
    if (lanes.active(i))
      lanes[i]->result = total;
}

template <class T, uint Width, class Op, bool Inclusive>
void combine_scan(const hm_simd_values *values, uint mask) {
  typedef lane_value<T> value;
  if constexpr (has_wide<T>) {
    if (mask == 0) {
      const T *from = HOSTMETAL_COLUMN(values, value, value);
      T *to = HOSTMETAL_COLUMN(values, value, result);
      if constexpr (Width == 32)
        return store_wide<T>(to, scan_wide<Op, Inclusive, T>(load_wide<T>(from)));
      for (uint quad = 0; quad < 32; quad += Width) {
        T total = Op::template identity<T>();
        for (uint i = quad; i < quad + Width; i++) {
          T next = Op::template apply<T>(total, from[i]);
          to[i] = Inclusive ? next : total;
          total = next;
        }
      }
      return;
    }
  }
  lanes_of<lane_value<T>, Width> lanes(values, mask);
  if constexpr (has_wide<T>) {
    if (is_whole<Width>(mask)) {
      wide<T, 32> all;
      for (uint i = 0; i < 32; i++)
        all[i] = lanes[i]->value;
      all = scan_wide<Op, Inclusive, T>(all);
      for (uint i = 0; i < 32; i++)
        lanes[i]->result = all[i];
      return;
    }
  }
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
  if (mask == 0) {
    typedef lane_shuffle<T> value;
    const uint *argument = HOSTMETAL_COLUMN(values, value, argument);
    uint from[32];
    for (uint i = 0; i < 32; i++) {
      uint source = From::template at<Width>(i % Width, argument[i]);
      from[i] = source < Width ? (i & ~(Width - 1)) + source : i;
    }
    return take_from<T>(HOSTMETAL_COLUMN(values, value, result), HOSTMETAL_COLUMN(values, value, value), from);
  }
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
  if (mask == 0) {
    typedef lane_shuffle<T> value;
    for (uint i = 0; i < 32; i++)
      HOSTMETAL_COLUMN(values, value, result)[i] = HOSTMETAL_COLUMN(values, value, value)[i & ~(Width - 1)];
    return;
  }
  lanes_of<lane_shuffle<T>, Width> lanes(values, mask);
  T value = lanes[(uint)__builtin_ctz(mask) - lanes.first]->value;
  for (uint i = 0; i < Width; i++)
    if (lanes.active(i))
      lanes[i]->result = value;
}

// shuffle_and_fill: the group is cut into runs of `modulo` lanes (a power of two); what is shifted in from outside a run comes from the other
// end of the fill data of that run.
template <uint Width, bool Up>
METAL_FUNC bool filled_from(uint position, uint argument, uint run, uint &source) {
  uint start = position / run * run, within = position % run, delta = argument % run;
  source = start + (Up ? within + run - delta : within + delta) % run;
  return Up ? within >= argument : within + argument < run;
}

template <class T, uint Width, bool Up>
void combine_fill(const hm_simd_values *values, uint mask) {
  if (mask == 0) {
    typedef lane_shuffle<T> value;
    const uint *modulo = HOSTMETAL_COLUMN(values, value, modulo), *argument = HOSTMETAL_COLUMN(values, value, argument);
    const T *own = HOSTMETAL_COLUMN(values, value, value), *fill = HOSTMETAL_COLUMN(values, value, fill);
    for (uint i = 0; i < 32; i++) {
      uint source;
      bool inside = filled_from<Width, Up>(i % Width, argument[i], modulo[i], source);
      if (source >= Width) // no power of two
        source = i % Width, inside = true;
      HOSTMETAL_COLUMN(values, value, result)[i] = (inside ? own : fill)[(i & ~(Width - 1)) + source];
    }
    return;
  }
  lanes_of<lane_shuffle<T>, Width> lanes(values, mask);
  for (uint i = 0; i < Width; i++) {
    if (!lanes.active(i))
      continue;
    uint source;
    bool inside = filled_from<Width, Up>(i, lanes[i]->argument, lanes[i]->modulo, source);
    if (!lanes.active(source))
      source = i, inside = true;
    lanes[i]->result = inside ? lanes[source]->value : lanes[source]->fill;
  }
}

template <uint Width>
void combine_vote(const hm_simd_values *values, uint mask) {
  if (mask == 0) {
    const bool *value = HOSTMETAL_COLUMN(values, lane_vote, value);
    wide<uint, 32> number = counted(hostmetal::lanes()), votes = __builtin_convertvector(load_wide<uchar>(value), wide<uint, 32>);
    uint all = fold_wide<op_or, uint>(votes << number);
    uint group = Width == 32 ? ~0u : (1u << Width % 32) - 1;
    store_wide<uint>(HOSTMETAL_COLUMN(values, lane_vote, result), ((wide<uint, 32>)all >> (number & ~(Width - 1))) & group);
    store_wide<uint>(HOSTMETAL_COLUMN(values, lane_vote, mask), (wide<uint, 32>)group);
    store_wide<uint>(HOSTMETAL_COLUMN(values, lane_vote, position), number & (Width - 1));
    return;
  }
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
