// SPDX-License-Identifier: Apache-2.0
// Members of aggregates, found without macros: C++20 has no reflection, but structured bindings give the
// types and addresses of members. Their number follows from how many values initialise the aggregate.
// Threads and errors: types and constants only; nothing here throws.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <weir/element.hpp>
#include <weir/struct_layout.hpp>

namespace weir {

namespace detail {
template <class T>
inline constexpr bool is_library_aggregate = false;
template <class T, std::size_t N>
inline constexpr bool is_library_aggregate<Vec<T, N>> = true;
template <class T, std::size_t R, std::size_t C>
inline constexpr bool is_library_aggregate<Mat<T, R, C>> = true;
template <class T, std::size_t N>
inline constexpr bool is_library_aggregate<std::array<T, N>> = true;
}  // namespace detail

/// A struct that arrays may hold: an aggregate of 1 to 32 members that is trivially copyable. Each member is
/// a number, bool, half, Vec, Mat or another such struct, or an array of fixed length of these. Such arrays,
/// C arrays or std::array, nest at most three deep.
template <class T>
concept KernelStruct =
    std::is_class_v<T> && std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> && !std::is_empty_v<T> &&
    !KernelElement<T> && !detail::is_library_aggregate<T>;

namespace detail {

inline constexpr std::size_t max_struct_members = 32;
inline constexpr std::size_t max_initializers = 1024;  // a C array counts each of its elements

/// Initialises any member.
struct AnyMember {
  template <class U>
  operator U() const noexcept;
};
template <std::size_t>
using AnyOf = AnyMember;

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires {
    T{AnyOf<I>{}...};
  };
}
/// Whether T{any, ..., {any}, any, ...} is valid.
template <class T, std::size_t... Before, std::size_t... After>
constexpr bool takes_braces(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires {
    T{AnyOf<Before>{}..., {AnyMember{}}, AnyOf<After>{}...};
  };
}

/// The most initialisers that T takes, which are at least `Low` and fewer than `High`.
template <class T, std::size_t Low, std::size_t High>
constexpr std::size_t search_initializers() {
  constexpr std::size_t middle = (Low + High) / 2;
  if constexpr (High - Low == 1) {
    return Low;
  } else if constexpr (takes<T>(std::make_index_sequence<middle>())) {
    return search_initializers<T, middle, High>();
  } else {
    return search_initializers<T, Low, middle>();
  }
}
template <class T, std::size_t Bound = 16>
constexpr std::size_t count_initializers() {
  if constexpr (!takes<T>(std::make_index_sequence<Bound>())) {
    return search_initializers<T, 0, Bound>();
  } else {
    static_assert(Bound < max_initializers,
                  "the C arrays of a struct have fewer than 1,024 elements: write std::array for long ones");
    if constexpr (Bound < max_initializers) return count_initializers<T, 2 * Bound>();
    return 0;
  }
}
/// The number of initialisers that the member at initialiser `At` takes of `All`. It is 1, or the number of
/// elements of an array, whose braces may be omitted. More than `Low`, at most `High`.
template <class T, std::size_t All, std::size_t At, std::size_t Low = 0, std::size_t High = 1>
constexpr std::size_t member_width() {
  using Before = std::make_index_sequence<At>;
  if constexpr (High == 1 && !takes_braces<T>(Before(), std::make_index_sequence<All - At - 1>())) {
    if constexpr (takes_braces<T>(Before(), std::index_sequence<>())) {
      return member_width<T, All, At, 1, All - At>();
    } else {
      return 1;  // a class that no braces initialise
    }
  } else if constexpr (High - Low == 1) {
    return High;
  } else if constexpr (constexpr std::size_t middle = (Low + High) / 2;
                       takes_braces<T>(Before(), std::make_index_sequence<All - At - middle>())) {
    return member_width<T, All, At, Low, middle>();
  } else {
    return member_width<T, All, At, middle, High>();
  }
}
template <class T, std::size_t All, std::size_t At = 0>
constexpr std::size_t count_members() {
  if constexpr (At >= All) {
    return 0;
  } else {
    return 1 + count_members<T, All, At + member_width<T, All, At>()>();
  }
}
template <class T>
inline constexpr std::size_t member_count = count_members<T, count_initializers<T>()>();

/// Calls `visitor` with a reference to each member, in order. Non-const objects must have no bit-fields, and
/// with GCC no members with the attribute `packed`. References to those would refer to copies, which have no
/// offset.
template <class T, class Visitor>
constexpr decltype(auto) visit_members(T& object, Visitor&& visitor) {
  constexpr std::size_t count = member_count<std::remove_const_t<T>>;
  static_assert(count >= 1 && count <= max_struct_members,
                "a struct in an array has 1 to 32 members: put some of them into a struct of their own");
// clang-format off
#define WEIR_MEMBERS(number, ...)                \
  if constexpr (count == number) {               \
    auto& [__VA_ARGS__] = object;                \
    return visitor(__VA_ARGS__);                 \
  }
  WEIR_MEMBERS(1, a)
  WEIR_MEMBERS(2, a, b)
  WEIR_MEMBERS(3, a, b, c)
  WEIR_MEMBERS(4, a, b, c, d)
  WEIR_MEMBERS(5, a, b, c, d, e)
  WEIR_MEMBERS(6, a, b, c, d, e, f)
  WEIR_MEMBERS(7, a, b, c, d, e, f, g)
  WEIR_MEMBERS(8, a, b, c, d, e, f, g, h)
  WEIR_MEMBERS(9, a, b, c, d, e, f, g, h, i)
  WEIR_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
  WEIR_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
  WEIR_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  WEIR_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  WEIR_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  WEIR_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  WEIR_MEMBERS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  WEIR_MEMBERS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  WEIR_MEMBERS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  WEIR_MEMBERS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  WEIR_MEMBERS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  WEIR_MEMBERS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  WEIR_MEMBERS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  WEIR_MEMBERS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  WEIR_MEMBERS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  WEIR_MEMBERS(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  WEIR_MEMBERS(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  WEIR_MEMBERS(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A)
  WEIR_MEMBERS(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B)
  WEIR_MEMBERS(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C)
  WEIR_MEMBERS(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D)
  WEIR_MEMBERS(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E)
  WEIR_MEMBERS(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E, F)
#undef WEIR_MEMBERS
  // clang-format on
}

template <class... M>
struct TypeList {
  static constexpr std::size_t size = sizeof...(M);
};
struct ListTypes {
  template <class... M>
  constexpr TypeList<std::remove_cv_t<M>...> operator()(M&...) const {
    return {};
  }
};
template <class T>
using member_types = decltype(visit_members(std::declval<T&>(), ListTypes()));

/// An array of fixed length.
template <class M>
struct FixedArray {
  static constexpr bool value = false;
};
template <class M, std::size_t N>
struct FixedArray<M[N]> {
  static constexpr bool value = true;
  using Element = M;
  static constexpr std::size_t size = N;
};
template <class M, std::size_t N>
struct FixedArray<std::array<M, N>> : FixedArray<M[N]> {};
template <class M>
concept FixedArrayType = FixedArray<M>::value;

/// Properties of a member's type: whether arrays may hold it (`supported`), and whether no struct in it is
/// packed (`aligned`). The numbers count elements of arrays (`elements`), scalars (`scalars`) and nested
/// arrays (`rank`).
template <class M>
struct MemberType {
  static constexpr bool supported = false, aligned = true;
  static constexpr std::size_t elements = 0, scalars = 0, rank = 0;
};
template <KernelElement M>
struct MemberType<M> {
  static constexpr bool supported = true, aligned = true;
  static constexpr std::size_t elements = 1, scalars = element_type<M>.components(), rank = 0;
};
template <FixedArrayType M>
struct MemberType<M> {
  using Of = MemberType<typename FixedArray<M>::Element>;
  static constexpr bool supported = Of::supported, aligned = Of::aligned;
  static constexpr std::size_t elements = Of::elements, scalars = FixedArray<M>::size * Of::scalars,
                               rank = Of::rank + 1;
};
template <class List>
struct MemberTypes;
template <class... M>
struct MemberTypes<TypeList<M...>> {
  static constexpr bool supported = (MemberType<M>::supported && ...);
  static constexpr bool members_aligned = (MemberType<M>::aligned && ...);
  static constexpr std::size_t alignment = std::max({alignof(M)...});
  static constexpr std::size_t elements = (MemberType<M>::elements + ...);
  static constexpr std::size_t scalars = (MemberType<M>::scalars + ...);
  static constexpr std::size_t rank = std::max({MemberType<M>::rank...});
};
template <KernelStruct M>
struct MemberType<M> : MemberTypes<member_types<M>> {
  using Members = MemberTypes<member_types<M>>;
  static constexpr bool aligned = Members::members_aligned && alignof(M) >= Members::alignment;
};

template <KernelStruct T>
constexpr void check_struct() {
  static_assert(
      MemberType<T>::supported,
      "a member of a struct in an array is a number, bool, half, Vec, Mat, another such struct, or an "
      "array of fixed length of these: pointers, enums, characters, unions and other classes are not");
  static_assert(MemberType<T>::rank <= StructMember::max_member_rank,
                "a struct in an array has at most three arrays around one another");
  static_assert(MemberType<T>::aligned,
                "members of structs in arrays must be aligned: remove the packing of the struct");
}

template <class T, class M>
std::uint32_t byte_offset(T& object, M& member) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<const char*>(std::addressof(member)) -
                                    reinterpret_cast<const char*>(std::addressof(object)));
}
/// Offsets of T's own members, in bytes.
template <KernelStruct T>
const auto& member_offsets() {
  static const auto offsets = [] {
    T object{};
    return visit_members(object, [&](auto&... m) {
      return std::array<std::uint32_t, sizeof...(m)>{byte_offset(object, m)...};
    });
  }();
  return offsets;
}
template <KernelStruct T, class M>
std::uint32_t member_offset(M T::*member) {
  T object{};
  return byte_offset(object, object.*member);
}

template <class M>
void list_members(StructMember place, StructMember*& out);
template <KernelStruct T, class... M>
void list_members_of(TypeList<M...>, const StructMember& place, StructMember*& out) {
  const auto list = [&]<class Type>(std::type_identity<Type>, std::uint32_t offset) {
    StructMember member = place;
    member.offset += offset;
    list_members<Type>(member, out);
  };
  const std::uint32_t* offset = member_offsets<T>().data();
  (list(std::type_identity<M>(), *offset++), ...);
}
template <class M>
void list_members(StructMember place, StructMember*& out) {
  if constexpr (KernelElement<M>) {
    place.element = element_type<M>;
    *out++ = place;
  } else if constexpr (FixedArrayType<M>) {
    using Of = typename FixedArray<M>::Element;
    place.extents[place.rank] = FixedArray<M>::size;
    place.strides[place.rank++] = sizeof(Of);
    list_members<Of>(place, out);
  } else {
    list_members_of<M>(member_types<M>(), place, out);
  }
}

/// T as data.
template <KernelStruct T>
const StructType& struct_type() {
  check_struct<T>();
  static const auto members = [] {
    std::array<StructMember, MemberType<T>::elements> list;
    StructMember* out = list.data();
    list_members<T>({}, out);
    return list;
  }();
  static const StructType type{sizeof(T), members};
  return type;
}

}  // namespace detail
}  // namespace weir
