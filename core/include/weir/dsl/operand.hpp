// SPDX-License-Identifier: Apache-2.0
// Operand: the parameter type of every operator of the kernel language. It converts from any traced or
// constant T and captures the source line, which an operator's own parameter list cannot do.
#pragma once

#include <bit>
#include <limits>
#include <optional>
#include <weir/dsl/trace.hpp>
#include <weir/dsl/traits.hpp>
#include <weir/element.hpp>

namespace weir::detail {

// Gives the classes of the language access to each other's handles.
struct Access {
  template <class T>
  static const Handle* components(const Value<T>& value) noexcept {
    return value.components_;
  }
  template <class E>
  static const Place& place(const E& element) noexcept {
    return element.place_;
  }
  template <class T>
  static Value<T> value(const Handle* components) noexcept {
    return Value<T>(components, 0);
  }
  template <class T>
  static Element<T> element(const Place& place) noexcept {
    return Element<T>(place);
  }
};

template <std::integral U>
void report_constant(U number, ScalarType type, Where where) {
  if constexpr (std::signed_integral<U>) {
    report_constant(static_cast<std::int64_t>(number), type, where);
  } else {
    report_constant(static_cast<std::uint64_t>(number), type, where);
  }
}

/// The bits of a host number as a T; a number that T cannot hold is reported.
template <class T, class U>
std::uint64_t constant_bits(U number, Where where) {
  static_assert(
      std::same_as<T, bool> == std::same_as<U, bool>,
      "a number and a boolean do not mix: compare the number with 0, or use select(condition, 1, 0)");
  if constexpr (std::same_as<T, bool> || std::same_as<U, bool>) {
    return static_cast<bool>(number) ? 1 : 0;
  } else if constexpr (std::floating_point<T>) {
    const T value = rounded<T>(number);
    if constexpr (std::integral<U>) {
      const auto bits = static_cast<std::uint64_t>(number);
      const std::uint64_t magnitude = number < 0 ? 0 - bits : bits;
      if (static_cast<int>(std::bit_width(magnitude)) >
          std::numeric_limits<T>::digits + std::countr_zero(magnitude))
        report_constant(number, ScalarOf<T>::value, where);
    } else if constexpr (!std::same_as<T, U>) {
      if (overflowed(number, value)) report_constant(static_cast<double>(number), ScalarOf<T>::value, where);
    }
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<std::uint32_t>(value);
    } else {
      return std::bit_cast<std::uint64_t>(value);
    }
  } else {
    static_assert(
        !std::floating_point<U>,
        "a floating constant meets a traced integer: write an integer constant, or cast<float>() the traced "
        "side");
    if constexpr (!std::floating_point<U>) {
      using Limits = std::numeric_limits<T>;
      const bool fits = number < 0
                            ? std::signed_integral<T> && static_cast<std::int64_t>(number) >=
                                                             static_cast<std::int64_t>(Limits::min())
                            : static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(Limits::max());
      if (!fits) report_constant(number, ScalarOf<T>::value, where);
      std::uint64_t bits = static_cast<std::uint64_t>(number);
      if constexpr (sizeof(T) < 8) bits &= (std::uint64_t{1} << (8 * sizeof(T))) - 1;
      return bits;
    }
    return 0;
  }
}

template <class T>
void read(const Value<T>& value, Handle* components, Where) {
  for (std::size_t i = 0; i < component_count<T>; ++i) components[i] = Access::components(value)[i];
}

template <class T>
WEIR_OUT_OF_LINE void read_place(const Place& place, Handle* components, Where where) {
  constexpr bool is_half = std::same_as<scalar_t<T>, half>;
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    components[i] = emit_load(place, i, scalar_type<T>, where);
    if constexpr (is_half) components[i] = emit("cast", ScalarType::f32, components + i, 1, where);
  }
}

template <class T>
WEIR_OUT_OF_LINE void write_place(const Place& place, const Handle* components, Where where) {
  constexpr bool is_half = std::same_as<scalar_t<T>, half>;
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    Handle component = components[i];
    if constexpr (is_half) component = emit("cast", ScalarType::f16, &component, 1, where);
    emit_store(place, i, scalar_type<T>, component, where);
  }
}

template <class T>
void read(const Var<T>& variable, Handle* components, Where where) {
  read_place<T>(Access::place(variable), components, where);
}

template <class T>
void read(Element<T>&& element, Handle* components, Where where) {
  read_place<T>(Access::place(element), components, where);
}

// The source of an operand or index, read when the operation needs it. Thus `x[i] + y[i]` records
// its loads in this order, whichever side the compiler converts first. Refers to the source, which lives as
// long as the expression.
template <class T>
class Source {
 public:
  template <class E>
  explicit Source(E& traced) noexcept
      : source_(&traced), read_([](const void* source, Handle* components, Where where) {
          using Plain = std::remove_const_t<E>;
          detail::read(static_cast<Plain&&>(*static_cast<Plain*>(const_cast<void*>(source))), components,
                       where);
        }) {}
  explicit Source(const T& constant) noexcept
    requires(!is_scalar<T>)
      : source_(&constant), read_([](const void* source, Handle* components, Where where) {
          const T& of = *static_cast<const T*>(source);
          for (std::size_t i = 0; i < component_count<T>; ++i) {
            components[i] =
                emit_constant(scalar_type<T>, constant_bits<scalar_t<T>>(of.data[i], where), where);
          }
        }) {}
  explicit Source(std::uint64_t bits) noexcept : bits_(bits) {}

  /// The bits of a host number; empty for anything else.
  std::optional<std::uint64_t> bits() const noexcept {
    return source_ == nullptr ? std::optional(bits_) : std::nullopt;
  }

  void read(Handle* components, Where where) const {
    if (read_ != nullptr) {
      read_(source_, components, where);
    } else {
      components[0] = emit_constant(scalar_type<T>, bits_, where);
    }
  }

 private:
  const void* source_ = nullptr;
  void (*read_)(const void* source, Handle* components, Where where) = nullptr;
  std::uint64_t bits_ = 0;
};

/// Whether E is a named element.
template <class E>
inline constexpr bool is_kept_element = false;
template <class T>
inline constexpr bool is_kept_element<Element<T>&> = true;
template <class T>
inline constexpr bool is_kept_element<const Element<T>&> = true;

template <class E>
constexpr void check_not_kept() {
  static_assert(!is_kept_element<E>,
                "auto p = x[i] refers to the element and does not copy it: write Value p = x[i] to read the "
                "element now");
}

/// A T in an expression: traced, a constant, or a number for every component of a Vec.
template <class T>
class Operand {
 public:
  template <Traced E>
    requires FitsAs<E, T>
  WEIR_OUT_OF_LINE Operand(E&& traced, Where where = Where::current())
      : source_(traced), broadcasts_(!std::same_as<traced_t<E>, T>), where_(where) {
    check_not_kept<E&&>();
  }
  template <HostNumber U>
    requires FitsAs<U, T>
  WEIR_OUT_OF_LINE Operand(U constant, Where where = Where::current())
      : source_(constant_bits<scalar_t<T>>(constant, where)), broadcasts_(true), where_(where) {}
  Operand(const T& constant, Where where = Where::current())
    requires(!is_scalar<T>)
      : source_(constant), where_(where) {}

  /// The components; reads the source on the first call.
  WEIR_OUT_OF_LINE const Handle* components() const {
    if (!read_) {
      source_.read(components_, where_);
      for (std::size_t i = 1; broadcasts_ && i < component_count<T>; ++i) components_[i] = components_[0];
      read_ = true;
    }
    return components_;
  }
  const Handle& operator[](std::size_t component) const { return components()[component]; }
  Where where() const noexcept { return where_; }

 private:
  Source<T> source_;
  bool broadcasts_ = false;
  mutable bool read_ = false;
  mutable Handle components_[component_count<T>];
  Where where_;
};

/// An index or a bound: a traced integer of any width, or an integer constant, as i64.
class Subscript {
 public:
  template <Traced E>
  Subscript(E&& traced, Where where = Where::current())
      : source_(traced), type_(scalar_type<traced_t<E>>), where_(where) {
    check_not_kept<E&&>();
    static_assert(std::integral<traced_t<E>> && !std::same_as<traced_t<E>, bool>,
                  "indices and bounds are integers: use cast<std::int64_t>(...) on this one");
  }
  template <HostNumber U>
  Subscript(U constant, Where where = Where::current()) : source_(bits(constant, where)), where_(where) {}

  WEIR_OUT_OF_LINE Handle handle() const {
    Handle handle;
    source_.read(&handle, where_);
    return type_ == ScalarType::i64 ? handle : emit("cast", ScalarType::i64, &handle, 1, where_);
  }
  /// The index if it is a host number; empty for a traced one.
  std::optional<std::int64_t> constant() const noexcept {
    const auto bits = source_.bits();
    return bits ? std::optional(static_cast<std::int64_t>(*bits)) : std::nullopt;
  }
  Where where() const noexcept { return where_; }

 private:
  template <class U>
  static std::uint64_t bits(U constant, Where where) {
    static_assert(std::integral<U> && !std::same_as<U, bool>, "indices and bounds are integers");
    if constexpr (std::integral<U> && !std::same_as<U, bool>)
      return constant_bits<std::int64_t>(constant, where);
    return 0;
  }

  Source<std::int64_t> source_;
  ScalarType type_ = ScalarType::i64;
  Where where_;
};

}  // namespace weir::detail
