// SPDX-License-Identifier: Apache-2.0
// Operand: what every operator of the kernel language takes. It converts from anything that stands for a T and
// captures the source line on the way, which an operator could not do by itself.
#pragma once

#include <bit>
#include <limits>

#include <weir/dsl/trace.hpp>
#include <weir/dsl/traits.hpp>

namespace weir::detail {

// Gives the classes of the language access to each other's handles.
struct Access {
  template <class T>
  static const Handle* lanes(const Value<T>& value) noexcept {
    return value.lanes_;
  }
  template <class E>
  static const Place& place(const E& element) noexcept {
    return element.place_;
  }
  template <class T>
  static Value<T> value(const Handle* lanes) noexcept {
    return Value<T>(lanes, 0);
  }
  template <class T>
  static Element<T> element(const Place& place) noexcept {
    return Element<T>(place);
  }
};

/// The bits of a host number as a T; a number that T cannot hold is reported.
template <class T, class U>
std::uint64_t constant_bits(U number, Where where) {
  static_assert(std::same_as<T, bool> == std::same_as<U, bool>,
                "a number and a boolean do not mix: compare the number with 0, or use select(condition, 1, 0)");
  if constexpr (std::same_as<T, bool> || std::same_as<U, bool>) {
    return static_cast<bool>(number) ? 1 : 0;
  } else if constexpr (std::floating_point<T>) {
    const T value = static_cast<T>(number);
    if constexpr (std::integral<U>) {
      if (static_cast<long double>(value) != static_cast<long double>(number)) {
        report("an integer constant has no exact value of the floating type beside it: write it with a decimal point",
               where);
      }
    } else {
      const bool finite = number - number == 0;
      if (finite && !(value - value == 0)) {
        report("a constant is too large for the floating type beside it: use cast<double>() there", where);
      }
    }
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<std::uint32_t>(value);
    } else {
      return std::bit_cast<std::uint64_t>(value);
    }
  } else {
    static_assert(!std::floating_point<U>,
                  "a floating constant meets a traced integer: write an integer constant, or cast<float>() the traced "
                  "side");
    if constexpr (!std::floating_point<U>) {
      using Limits = std::numeric_limits<T>;
      const bool fits = number < 0 ? std::signed_integral<T> && static_cast<std::int64_t>(number) >=
                                                                    static_cast<std::int64_t>(Limits::min())
                                   : static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(Limits::max());
      if (!fits) report("an integer constant does not fit the integer type beside it: use cast<>() there", where);
      std::uint64_t bits = static_cast<std::uint64_t>(number);
      if constexpr (sizeof(T) < 8) bits &= (std::uint64_t{1} << (8 * sizeof(T))) - 1;
      return bits;
    }
    return 0;
  }
}

template <class T>
void read(const Value<T>& value, Handle* lanes, Where) {
  for (std::size_t i = 0; i < lanes_of<T>; ++i) lanes[i] = Access::lanes(value)[i];
}

template <class T>
void read_place(const Place& place, Handle* lanes, Where where) {
  constexpr bool is_half = std::same_as<scalar_t<T>, half>;
  for (std::size_t i = 0; i < lanes_of<T>; ++i) {
    lanes[i] = emit_load(place, i, scalar_type<T>, where);
    if constexpr (is_half) lanes[i] = emit("cast", ScalarType::f32, lanes + i, 1, where);
  }
}

template <class T>
void write_place(const Place& place, const Handle* lanes, Where where) {
  constexpr bool is_half = std::same_as<scalar_t<T>, half>;
  for (std::size_t i = 0; i < lanes_of<T>; ++i) {
    Handle lane = lanes[i];
    if constexpr (is_half) lane = emit("cast", ScalarType::f16, &lane, 1, where);
    emit_store(place, i, scalar_type<T>, lane, where);
  }
}

template <class T>
void read(const Var<T>& variable, Handle* lanes, Where where) {
  read_place<T>(Access::place(variable), lanes, where);
}

template <class T>
void read(Element<T>&& element, Handle* lanes, Where where) {
  read_place<T>(Access::place(element), lanes, where);
}

template <class T>
void read(const Element<T>&, Handle*, Where) {
  static_assert(always_false<T>,
                "auto p = x[i] keeps the place, not what it holds: write Value p = x[i] to read the element now");
}

template <class T>
class Operand {
 public:
  template <Traced E>
    requires FitsAs<E, T>
  Operand(E&& traced, Where where = Where::current()) : where_(where) {
    read(static_cast<E&&>(traced), lanes_, where);
    if constexpr (!std::same_as<traced_t<E>, T>) broadcast();
  }

  template <HostNumber U>
    requires FitsAs<U, T>
  Operand(U constant, Where where = Where::current()) : where_(where) {
    lanes_[0] = emit_constant(scalar_type<T>, constant_bits<scalar_t<T>>(constant, where), where);
    broadcast();
  }

  Operand(const T& constant, Where where = Where::current())
    requires(!is_scalar<T>)
      : where_(where) {
    for (std::size_t i = 0; i < lanes_of<T>; ++i) {
      lanes_[i] = emit_constant(scalar_type<T>, constant_bits<scalar_t<T>>(constant.data[i], where), where);
    }
  }

  const Handle* lanes() const noexcept { return lanes_; }
  const Handle& operator[](std::size_t lane) const noexcept { return lanes_[lane]; }
  Where where() const noexcept { return where_; }

 private:
  void broadcast() {
    for (std::size_t i = 1; i < lanes_of<T>; ++i) lanes_[i] = lanes_[0];
  }

  Handle lanes_[lanes_of<T>];
  Where where_;
};

/// An index or a bound: a traced integer of any width, or an integer constant, as i64.
class Subscript {
 public:
  template <Traced E>
  Subscript(E&& traced, Where where = Where::current()) : where_(where) {
    using T = traced_t<E>;
    static_assert(std::integral<T> && !std::same_as<T, bool>,
                  "indices and bounds are integers: use cast<std::int64_t>(...) on this one");
    if constexpr (std::integral<T>) {
      read(static_cast<E&&>(traced), &handle_, where);
      if constexpr (scalar_type<T> != ScalarType::i64) handle_ = emit("cast", ScalarType::i64, &handle_, 1, where);
    }
  }

  template <HostNumber U>
  Subscript(U constant, Where where = Where::current()) : where_(where) {
    static_assert(std::integral<U> && !std::same_as<U, bool>, "indices and bounds are integers");
    if constexpr (std::integral<U>) {
      handle_ = emit_constant(ScalarType::i64, constant_bits<std::int64_t>(constant, where), where);
    }
  }

  const Handle& handle() const noexcept { return handle_; }
  Where where() const noexcept { return where_; }

 private:
  Handle handle_;
  Where where_;
};

}  // namespace weir::detail
