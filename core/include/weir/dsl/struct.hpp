// SPDX-License-Identifier: Apache-2.0
// Structs in kernels: particles[i][&Particle::velocity] is an Element as x[i] is, and Value p = particles[i]
// reads a whole struct.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <string>
#include <weir/dsl/view.hpp>
#include <weir/struct_members.hpp>

namespace weir {

namespace detail {

/// A struct, or a part of it, in a struct array: the array's members are the IR's parameters from `first` on.
struct StructPlace {
  const StructType* type = nullptr;  ///< of the array's structs
  std::uint32_t trace = 0;
  std::uint32_t first = 0;
  std::uint32_t offset = 0;  ///< of the part, with index 0 in each array around it, in bytes
  std::uint8_t rank = 0;     ///< number of indices
  Handle index[max_rank];
  Where where;  ///< of the index of the struct

  StructPlace part(std::uint32_t bytes) const noexcept {
    StructPlace place = *this;
    place.offset += bytes;
    return place;
  }
  StructPlace indexed(const Handle& by) const noexcept {
    StructPlace place = *this;
    place.index[place.rank++] = by;
    return place;
  }
  /// The place of a part that is an element.
  Place element() const noexcept {
    Place place;
    place.trace = trace;
    place.id = first;
    for (const StructMember& member : type->members) {
      if (member.offset == offset) break;
      ++place.id;
    }
    place.rank = rank;
    for (std::size_t d = 0; d < rank; ++d) place.index[d] = index[d];
    place.where = where;
    return place;
  }
};

/// Calls `visit` with the place of each element of an M at `place`, in order, as visit.operator()<E>(place).
template <class M, class Visit>
void visit_elements(const StructPlace& place, Visit&& visit, Where where) {
  if constexpr (KernelElement<M>) {
    visit.template operator()<M>(place.element());
  } else if constexpr (FixedArrayType<M>) {
    for (std::size_t k = 0; k < FixedArray<M>::size; ++k)
      visit_elements<typename FixedArray<M>::Element>(place.indexed(emit_constant(ScalarType::i64, k, where)),
                                                      visit, where);
  } else {
    const std::uint32_t* offset = member_offsets<M>().data();
    [&]<class... Type>(TypeList<Type...>) {
      (visit_elements<Type>(place.part(*offset++), visit, where), ...);
    }(member_types<M>());
  }
}

/// A struct or an array of fixed length: a part of an array's struct that has parts itself.
template <class M>
concept Composite = KernelStruct<M> || FixedArrayType<M>;

/// The number of scalars before the member at `offset` bytes.
template <KernelStruct T>
std::size_t scalars_before(std::uint32_t offset) {
  std::size_t before = 0;
  const std::uint32_t* at = member_offsets<T>().data();
  [&]<class... Type>(TypeList<Type...>) {
    ((*at++ < offset ? before += MemberType<Type>::scalars : before), ...);
  }(member_types<T>());
  return before;
}

/// The c in value[&T::weights][c]. Captures the source line, which operator[] cannot do.
class ConstantIndex {
 public:
  template <class I>
  ConstantIndex(I&& index, Where where = Where::current()) : where_(where) {
    static_assert(!Traced<I>,
                  "an array in a Value of a struct takes a constant index: read the element of the array "
                  "that holds the "
                  "struct, particles[i][&T::member][index]");
    if constexpr (!Traced<I>) index_ = static_cast<std::size_t>(index);
  }
  std::size_t index() const noexcept { return index_; }
  Where where() const noexcept { return where_; }

 private:
  std::size_t index_ = 0;
  Where where_;
};

inline void check_member_index(const Subscript& index, std::size_t size) {
  const auto constant = index.constant();
  if (!constant || static_cast<std::uint64_t>(*constant) < size) return;
  report("index " + std::to_string(*constant) + " is outside the struct's member, an array of " +
             std::to_string(size) + ": indices are 0 to " + std::to_string(size - 1),
         index.where());
}

/// A struct or array of the host as constants, in the order of Value's scalars.
template <class M>
void emit_constants(const M& host, Handle*& out, Where where) {
  if constexpr (FixedArrayType<M>) {
    for (const auto& element : host) emit_constants(element, out, where);
  } else if constexpr (KernelStruct<M>) {
    visit_members(host, [&](const auto&... member) { (emit_constants(member, out, where), ...); });
  } else if constexpr (!is_scalar<M>) {
    for (const auto& component : host.data) emit_constants(component, out, where);
  } else if constexpr (std::same_as<M, half>) {
    *out++ = emit_constant(ScalarType::f16, host.bits(), where);
  } else {
    *out++ = emit_constant(scalar_type<M>, constant_bits<M>(host, where), where);
  }
}

/// The right side of an assignment to a struct: a struct that was read, an element, or a struct of the host.
/// Elements are read now. Halves are copied unchanged.
template <class M>
class StructOperand {
 public:
  StructOperand(const Value<M>& value, Where where = Where::current()) : where_(where) {
    for (std::size_t i = 0; i < MemberType<M>::scalars; ++i) scalars_[i] = value.scalars_[i];
  }
  StructOperand(Element<M>&& element, Where where = Where::current()) : where_(where) {
    read(element.place_);
  }
  StructOperand(Element<const M>&& element, Where where = Where::current()) : where_(where) {
    read(element.place_);
  }
  StructOperand(const M& host, Where where = Where::current()) : where_(where) {
    Handle* out = scalars_;
    emit_constants(host, out, where);
  }
  const Handle* scalars() const noexcept { return scalars_; }
  void write(const StructPlace& place) const {
    const Handle* scalar = scalars_;
    const auto store = [&]<class E>(const Place& element) {
      for (std::size_t c = 0; c < component_count<E>; ++c)
        emit_store(element, c, scalar_type<E>, *scalar++, where_);
    };
    visit_elements<M>(place, store, where_);
  }

 private:
  void read(const StructPlace& place) {
    Handle* out = scalars_;
    const auto load = [&]<class E>(const Place& element) {
      for (std::size_t c = 0; c < component_count<E>; ++c)
        *out++ = emit_load(element, c, scalar_type<E>, where_);
    };
    visit_elements<M>(place, load, where_);
  }
  Handle scalars_[MemberType<M>::scalars];
  Where where_;
};

struct StructAccess {
  template <class M>
  static auto element(const StructPlace& place) {
    using Plain = std::remove_const_t<M>;
    if constexpr (KernelElement<Plain>) {
      return Access::element<M>(place.element());
    } else {
      return Element<M>(place);
    }
  }
  /// The part of a Value that begins at `scalars`.
  template <class M>
  static auto value(const Handle* scalars) {
    if constexpr (Composite<M>) {
      return Value<M>(scalars, 0);
    } else if constexpr (std::same_as<scalar_t<M>, half>) {
      Handle floats[component_count<M>];
      for (std::size_t c = 0; c < component_count<M>; ++c)
        floats[c] = emit("cast", ScalarType::f32, scalars + c, 1, Where());
      return Access::value<compute_t<M>>(floats);
    } else {
      return Access::value<M>(scalars);
    }
  }
};
}  // namespace detail

/// A struct, or an array in a struct, as a result. Immutable; copies name the same result. s[&T::m] is a
/// member, a[k] with a constant k is an element of an array.
template <detail::Composite T>
class Value<T> {
 public:
  using value_type = T;

  Value(const Value&) = default;
  /// Reads an element now, or makes constants of a struct of the host.
  Value(const detail::StructOperand<T>& from) noexcept : Value(from.scalars(), 0) {}
  Value(Element<T>&& from, detail::Where where = detail::Where::current())
      : Value(detail::StructOperand<T>(static_cast<Element<T>&&>(from), where)) {}
  Value(Element<const T>&& from, detail::Where where = detail::Where::current())
      : Value(detail::StructOperand<T>(static_cast<Element<const T>&&>(from), where)) {}
  Value(const T& host, detail::Where where = detail::Where::current())
      : Value(detail::StructOperand<T>(host, where)) {}

  template <class M, class C>
  auto operator[](M C::*member) const requires KernelStruct<T> {
    static_assert(std::same_as<C, T>, "the member named is one of another struct");
    const std::size_t before = detail::scalars_before<T>(detail::member_offset(member));
    return detail::StructAccess::value<M>(scalars_ + before);
  }
  auto operator[](const detail::ConstantIndex& index) const requires detail::FixedArrayType<T> {
    using Of = typename detail::FixedArray<T>::Element;
    detail::check_member_index(detail::Subscript(index.index(), index.where()), detail::FixedArray<T>::size);
    const std::size_t checked = index.index() < detail::FixedArray<T>::size ? index.index() : 0;
    return detail::StructAccess::value<Of>(scalars_ + checked * detail::MemberType<Of>::scalars);
  }
  template <class A>
  void operator=(A&&) const {
    static_assert(
        detail::always_false<A>,
        "a Value never changes: assign to the struct's element, particles[i] = ..., or to a member");
  }

 private:
  friend struct detail::StructAccess;
  friend class detail::StructOperand<T>;
  Value(const detail::Handle* scalars, int) noexcept {
    for (std::size_t i = 0; i < detail::MemberType<T>::scalars; ++i) scalars_[i] = scalars[i];
  }
  detail::Handle scalars_[detail::MemberType<T>::scalars];
};

template <class T>
requires detail::Composite<std::remove_const_t<T>> Value(Element<T>&&)
->Value<std::remove_const_t<T>>;

/// The place that particles[i] names, or a struct or array in it. e[&T::m] is a member, a[k] with any k is an
/// element of an array. Assign a whole struct to it, or read it into a Value. Valid inside one expression.
template <class T>
requires detail::Composite<std::remove_const_t<T>>
class Element<T> {
  using Plain = std::remove_const_t<T>;
  template <class M>
  using Part = std::conditional_t<std::is_const_v<T>, const M, M>;

 public:
  using value_type = Plain;

  Element(const Element&) = delete;  // auto p = particles[i] keeps a place; write Value p = particles[i]
  ~Element() {}                      // keeps structs out of variadic functions, as NoHostCondition does

  template <class M, class C>
      auto operator[](M C::*member) && requires KernelStruct<Plain> {
    static_assert(std::same_as<C, Plain>, "the member named is one of another struct");
    return detail::StructAccess::element<Part<M>>(place_.part(detail::member_offset(member)));
  }
  auto operator[](const detail::Subscript& index) && requires detail::FixedArrayType<Plain> {
    using Of = detail::FixedArray<Plain>;
    detail::check_member_index(index, Of::size);
    return detail::StructAccess::element<Part<typename Of::Element>>(place_.indexed(index.handle()));
  }
  template <class I>
  void operator[](const I&) & {
    static_assert(detail::always_false<I>,
                  "auto p = particles[i] refers to the struct and does not copy it: write Value p = "
                  "particles[i] to read it now");
  }

  Element&& operator=(const detail::StructOperand<Plain>& value) && {
    write(value);
    return static_cast<Element&&>(*this);
  }
  Element&& operator=(Element&& from) && {
    write(detail::StructOperand<Plain>(static_cast<Element&&>(from), detail::Where()));
    return static_cast<Element&&>(*this);
  }

 private:
  friend struct detail::StructAccess;
  friend class detail::StructOperand<Plain>;
  template <class, std::size_t>
  friend class View;
  explicit Element(const detail::StructPlace& place) noexcept : place_(place) {}
  void write(const detail::StructOperand<Plain>& value) const {
    static_assert(!std::is_const_v<T>,
                  "this array is read-only in the kernel: take View<T> instead of View<const T>");
    if constexpr (!std::is_const_v<T>) value.write(place_);
  }

  detail::StructPlace place_;
};

/// A struct array of any layout: a parameter of a kernel that is launched with a StructArrayView<T>.
/// View<const T> is read-only.
template <class T>
requires KernelStruct<std::remove_const_t<T>>
class View<T, 1> {
  static_assert((detail::check_struct<std::remove_const_t<T>>(), true));

 public:
  using element_type = T;
  static constexpr std::size_t rank = 1;

  View(const View&) = default;
  View& operator=(const View&) = default;
  ~View() {}  // keeps views out of variadic functions, as NoHostCondition does

  /// Number of structs.
  Index size() const { return detail::Access::value<std::int64_t>(&size_); }
  Index extent(std::size_t dimension, detail::Where where = detail::Where::current()) const {
    if (dimension != 0) detail::report("a struct array has one dimension: its extent is extent(0)", where);
    return size();
  }
  Element<T> operator[](const detail::Subscript& i) const {
    detail::StructPlace place{
        &detail::struct_type<std::remove_const_t<T>>(), trace_, first_, 0, 1, {}, i.where()};
    place.index[0] = i.handle();
    return Element<T>(place);
  }
  Element<T> operator()(const detail::Subscript& i) const { return (*this)[i]; }

 private:
  friend struct detail::KernelParameters;
  View(std::uint32_t trace, std::uint32_t first, const detail::Handle& size) noexcept
      : trace_(trace), first_(first), size_(size) {}

  std::uint32_t trace_;
  std::uint32_t first_;
  detail::Handle size_;
};

}  // namespace weir
