// SPDX-License-Identifier: Apache-2.0
// Parameters of a kernel's lambda as parameters of the IR, and the arguments of a launch. Internal: users
// include <weir/kernel.hpp>.
// Threads: each object is for one thread. Errors: conversions of arguments throw nothing; the launch checks
// them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <weir/array.hpp>
#include <weir/dsl/struct.hpp>
#include <weir/dsl/value.hpp>
#include <weir/dsl/view.hpp>
#include <weir/future.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>
#include <weir/struct_array.hpp>

namespace weir::detail {

/// Refuses a stream or options where a launch expects an argument.
template <class A>
constexpr void refuse_stream_argument() {
  static_assert(
      !std::convertible_to<const A&, StreamRef> && !std::same_as<A, LaunchOptions>,
      "this launch has too few arguments: after the stream, the kernel takes one for each parameter of "
      "its lambda");
}
template <class A>
inline constexpr bool is_stream = std::convertible_to<const A&, StreamRef> || std::same_as<A, LaunchOptions>;

/// The launch argument for a View<T, Rank>: an array or view of the same type and rank.
template <class T, std::size_t Rank>
class ArrayArgument {
 public:
  ArrayArgument(const AnyArrayView& view) noexcept : view_(&view) {}
  template <class U, std::size_t R>
  ArrayArgument(const ArrayView<U, R>& view) noexcept : view_(&view) {
    static_assert(std::same_as<U, std::remove_const_t<T>>,
                  "the array's element type differs from the kernel's View<T>");
    static_assert(R == Rank, "the array's number of dimensions differs from the kernel's View<T, Rank>");
  }
  template <class A>
  requires(!std::convertible_to<const A&, const AnyArrayView&>) ArrayArgument(const A&) : view_(nullptr) {
    refuse_stream_argument<A>();
    static_assert(
        !is_future<A>,
        "a Future is read on the host: let the earlier kernel store to an Array<T, 0>, and pass that");
    static_assert(
        is_stream<A> || is_future<A>,
        "a View parameter takes a device array: device.array_of<T>(values) makes one from host memory");
  }
  const AnyArrayView* view() const noexcept { return view_; }

 private:
  const AnyArrayView* view_;
};

/// The launch argument for a Value<T>: a T, or a number that converts to T without loss. Other integers are
/// passed on unchanged; the launch refuses them and names the kernel and the parameter.
template <class T>
class ScalarArgument {
 public:
  ScalarArgument(const T& value) noexcept : value_(value) {}
  template <class U>
  requires(!std::same_as<U, T> && (std::is_arithmetic_v<U> || std::is_convertible_v<U, T>))
      ScalarArgument(const U& value)
      : value_(converted(value)) {
    if constexpr (std::integral<T> && std::integral<U>)
      if (static_cast<U>(value_) != value || (value_ < T{0}) != (value < U{0})) [[unlikely]] {
        given_ = static_cast<std::uint64_t>(value);
        given_type_ = std::is_signed_v<U> ? ScalarType::i64 : ScalarType::u64;
      }
  }
  template <class A>
  requires(!std::is_arithmetic_v<A> && !std::is_convertible_v<A, T>) ScalarArgument(const A&) : value_() {
    refuse_stream_argument<A>();
    static_assert(
        !is_future<A>,
        "a Value<T> is a host number: pass future.get(), or, to wait for nothing, let the earlier kernel "
        "store to an Array<T, 0> that this one takes as View<const T, 0>");
    static_assert(is_stream<A> || is_future<A>,
                  "a Value<T> parameter takes a T, or a number that becomes one: this is neither");
  }
  LaunchArgument argument() const noexcept {
    if (given_type_ != ScalarType::boolean) [[unlikely]]
      return {nullptr, &given_, ElementType{given_type_}};
    return {nullptr, &value_, element_type<T>};
  }

 private:
  template <class U>
  static T converted(const U& value) {
    if constexpr (!std::is_arithmetic_v<T> || !std::is_arithmetic_v<U>) {
      static_assert(!std::is_arithmetic_v<T> || std::is_enum_v<U>,
                    "the argument's type differs from the kernel's Value<T>: pass a T");
      return static_cast<T>(value);
    } else if constexpr (std::same_as<T, bool>) {
      static_assert(std::same_as<U, bool>, "a Value<bool> takes a bool: compare the number with 0");
      return value;
    } else if constexpr (std::floating_point<T>) {
      return rounded<T>(value);
    } else {
      static_assert(!std::floating_point<U>,
                    "a floating-point argument is not converted to an integer implicitly: round and cast it");
      return static_cast<T>(value);
    }
  }

  T value_;
  std::uint64_t given_ = 0;                      // an integer that T does not hold, in 64 bits,
  ScalarType given_type_ = ScalarType::boolean;  // and its type; boolean for none
};

/// The launch argument for a View of structs: a struct array of the same type and any layout.
template <class T>
class StructArgument {
 public:
  StructArgument(const StructArrayView<T>& view) : size_(view.size()), layout_(view.layout()) {
    member_arguments(view.bytes(), struct_type<T>(), layout_, view.size(), members_.data());
  }
  template <class A>
  requires(!std::convertible_to<const A&, const StructArrayView<T>&>) StructArgument(const A&) {
    refuse_stream_argument<A>();
    static_assert(is_stream<A>,
                  "a View of structs takes a StructArray<T> or StructArrayView<T> of the same struct");
  }
  void write(LaunchArgument* out) const noexcept {
    *out++ = {nullptr, &size_, weir::element_type<std::int64_t>, layout_};
    for (const AnyArrayView& member : members_) *out++ = {&member, nullptr, member.element(), {}};
  }

 private:
  std::int64_t size_ = 0;
  Layout layout_;
  std::array<AnyArrayView, MemberType<T>::elements> members_;
};

/// A parameter of a kernel's lambda: `count` parameters of the IR.
template <class P>
struct KernelParameter {
  static_assert(always_false<P>,
                "the parameters of a kernel are View<T, Rank> and Value<T>; structs come as View<T>, or as a "
                "Value for each member");
};
template <class T, std::size_t Rank>
struct KernelParameter<View<T, Rank>> {
  using Argument = ArrayArgument<T, Rank>;
  static constexpr std::size_t count = 1;
  static void describe(ParameterType* out) noexcept {
    *out = {true, element_type<std::remove_const_t<T>>, Rank};
  }
  static void write(const Argument& a, LaunchArgument* out) noexcept {
    *out = {a.view(), nullptr, element_type<std::remove_const_t<T>>, {}};
  }
};
template <KernelElement T>
struct KernelParameter<Value<T>> {
  using Argument = ScalarArgument<T>;
  static constexpr std::size_t count = 1;
  static void describe(ParameterType* out) noexcept { *out = {false, element_type<T>, 0}; }
  static void write(const Argument& a, LaunchArgument* out) noexcept { *out = a.argument(); }
};
template <class T>
requires KernelStruct<std::remove_const_t<T>>
struct KernelParameter<View<T, 1>> {
  using Struct = std::remove_const_t<T>;
  using Argument = StructArgument<Struct>;
  static constexpr std::size_t count = 1 + MemberType<Struct>::elements;
  static void describe(ParameterType* out) noexcept {
    *out++ = {false, element_type<std::int64_t>, 0};
    for (const StructMember& member : struct_type<Struct>().members)
      *out++ = {true, member.element, static_cast<std::uint8_t>(1 + member.rank)};
  }
  static void write(const Argument& a, LaunchArgument* out) noexcept { a.write(out); }
};

/// The parameters of a kernel as those of the IR.
template <class... P>
struct ParameterList {
  static constexpr std::size_t count = (std::size_t{0} + ... + KernelParameter<P>::count);
  static constexpr std::array<std::size_t, sizeof...(P) + 1> first = [] {
    std::array<std::size_t, sizeof...(P) + 1> result{};
    const std::size_t counts[sizeof...(P) + 1] = {KernelParameter<P>::count..., 0};
    for (std::size_t p = 0; p < sizeof...(P); ++p) result[p + 1] = result[p] + counts[p];
    return result;
  }();
  std::array<ParameterType, count + 1> types{};
  std::array<StructParameter, sizeof...(P) + 1> structs{};
  std::size_t struct_count = 0;

  ParameterList() {
    [[maybe_unused]] std::size_t p = 0;
    (add<P>(first[p++]), ...);
  }

 private:
  template <class Parameter>
  void add(std::size_t at) {
    KernelParameter<Parameter>::describe(types.data() + at);
    if constexpr (requires { typename KernelParameter<Parameter>::Struct; })
      structs[struct_count++] = {static_cast<std::uint32_t>(at),
                                 &struct_type<typename KernelParameter<Parameter>::Struct>()};
  }
};

/// The arguments of a launch. Refers to `arguments`, which must live as long.
template <class... P>
class LaunchList {
 public:
  explicit LaunchList(const typename KernelParameter<P>::Argument&... arguments) noexcept {
    [[maybe_unused]] std::size_t p = 0;
    (KernelParameter<P>::write(arguments, list_ + ParameterList<P...>::first[p++]), ...);
  }
  operator std::span<const LaunchArgument>() const noexcept { return {list_, ParameterList<P...>::count}; }
  const LaunchArgument* data() const noexcept { return list_; }
  static constexpr std::size_t size() noexcept { return ParameterList<P...>::count; }

 private:
  LaunchArgument list_[ParameterList<P...>::count + 1];
};

struct KernelParameters {
  template <class P>
  static P make(std::uint32_t trace, std::size_t index, const Handle* const* components) {
    if constexpr (requires { typename KernelParameter<P>::Struct; }) {
      return P(trace, static_cast<std::uint32_t>(index + 1), *components[index]);
    } else if constexpr (requires { typename P::element_type; }) {
      return P(trace, static_cast<std::uint32_t>(index));
    } else {
      return Access::value<typename P::value_type>(components[index]);
    }
  }
};

}  // namespace weir::detail
