// What a kernel's buffers hold, for reflection and argument encoders: the type of each buffer argument as a tree in preorder. Types, offsets and
// sizes are clang's own; what the members of a structure are called is written by the pre-pass (msl/members.rs), as specialisations of `members`.
// Included by hostmetal_kernel.h. The Rust side of these structs is crates/hostmetal/src/msl/loaded.rs.
#pragma once

extern "C" {

struct hm_type {
  unsigned data_type;    // MTLDataType
  unsigned name;         // of a structure's member: its number in the pre-pass's list, from 1; else 0
  int id;                // [[id(n)]], -1 when there is none
  unsigned access;       // MTLBindingAccess of a texture or of what a pointer points to
  unsigned texture_type; // MTLTextureType
  unsigned element;      // MTLDataType of a texture's components
  unsigned count;        // elements of an array; of a texture: 1 when it is a depth texture
  unsigned descendants;  // nodes of the tree below: the members, the element, or what is pointed to
  unsigned long offset;  // of a member
  unsigned long size, alignment;
};

} // extern "C"

namespace hostmetal {

constexpr unsigned types_version = 1;

template <unsigned Count>
struct types {
  unsigned version, count, node_size, unused;
  hm_type nodes[Count ? Count : 1];
  constexpr void set(unsigned at, hm_type node) { nodes[at] = node; }
};
// Counts only.
struct no_types {
  constexpr void set(unsigned, hm_type) {}
};

template <class T, ulong Offset, int Id, unsigned Name>
struct member {};
template <class... M>
struct member_list {};
// None are known of a structure that the pre-pass does not understand.
template <class T>
struct members {
  typedef member_list<> list;
};
template <class... T>
struct chain {};

template <class T, class = void>
constexpr bool is_complete = __is_void(T);
template <class T>
constexpr bool is_complete<T, metal::enable_if_t<(sizeof(T) > 0)>> = true;

// Own specialisations for what data_type does not tell.
template <class T>
struct array_of {
  static constexpr unsigned count = 0;
};
template <class T, __SIZE_TYPE__ N>
struct array_of<T[N]> {
  static constexpr unsigned count = N;
  typedef T element;
};
template <class T, __SIZE_TYPE__ N>
struct array_of<metal::array<T, N>> : array_of<T[N]> {};

template <class T, class Table, class... Around>
constexpr void put_type(Table &table, unsigned &at, unsigned name, int id, ulong offset, chain<Around...>);

template <class Table, class... Around, class... T, ulong... Offset, int... Id, unsigned... Name>
constexpr void put_members(Table &table, unsigned &at, chain<Around...> around, member_list<member<T, Offset, Id, Name>...>) {
  (put_type<plain<T>>(table, at, Name, Id, Offset, around), ...);
}

// A structure inside itself (behind a pointer) is told without its members.
template <class T, class Table, class... Around>
constexpr void put_type(Table &table, unsigned &at, unsigned name, int id, ulong offset, chain<Around...> around) {
  unsigned own = at++;
  hm_type node = {data_type_of<T>(), name, id, 0, 0, 0, 0, 0, offset, 0, 1};
  if constexpr (is_complete<T>) {
    node.size = extent_of<T>::size;
    node.alignment = extent_of<T>::alignment;
  }
  if constexpr (array_of<T>::count > 0) {
    node.data_type = 2;
    node.count = array_of<T>::count;
    put_type<plain<typename array_of<T>::element>>(table, at, 0, -1, 0, around);
  } else if constexpr (parameter<T>::indirect) {
    typedef typename parameter<T>::target target;
    node.access = __is_const(target) ? 0 : 1;
    put_type<plain<target>>(table, at, 0, -1, 0, around);
  } else if constexpr (resource<T>::kind == kind_texture) {
    node.data_type = 58;
    node.access = resource<T>::access;
    node.texture_type = resource<T>::type;
    node.element = resource<T>::data_type;
    node.count = resource<T>::depth;
  } else if constexpr (resource<T>::kind == kind_sampler) {
    node.data_type = 59;
  } else if constexpr (__is_class(T) && data_type_of<T>() == 1 && !(false || ... || __is_same(T, Around))) {
    put_members(table, at, chain<T, Around...>(), typename members<T>::list());
  }
  node.descendants = at - own - 1;
  table.set(own, node);
}

} // namespace hostmetal
