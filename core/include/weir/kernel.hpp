// SPDX-License-Identifier: Apache-2.0
// Kernels written as C++ lambdas: the kernel language. sdk/docs/kernel-language.md explains it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/array.hpp>
#include <weir/current_stream.hpp>
#include <weir/dsl/atomic.hpp>
#include <weir/dsl/common.hpp>
#include <weir/dsl/control.hpp>
#include <weir/dsl/function.hpp>
#include <weir/dsl/linear_algebra.hpp>
#include <weir/dsl/math.hpp>
#include <weir/dsl/math_results.hpp>
#include <weir/dsl/matrix.hpp>
#include <weir/dsl/print.hpp>
#include <weir/dsl/random.hpp>
#include <weir/dsl/reduce.hpp>
#include <weir/dsl/relational.hpp>
#include <weir/dsl/value.hpp>
#include <weir/dsl/view.hpp>
#include <weir/program.hpp>

namespace weir {

struct KernelOptions {
  bool fast_math = false;     ///< faster, and no longer the same bits on every driver
  bool check_bounds = false;  ///< an index outside its array fails the launch, like an assert_
  /// Neighbouring loops may become one task where that changes no result. WEIR_FUSION=off in the environment
  /// keeps all loops of all kernels apart.
  bool fusion = true;
  bool debug =
      false;  ///< launches run in the interpreter with its checks, as by WEIR_DEBUG; see Program::debug
  /// Names of the parameters, for messages and the text form; p0, p1, ... where none is given.
  std::vector<std::string> parameter_names = {};
};

/// A lambda whose captures are read once, when the kernel is built; made by with_constants().
template <class F>
struct WithConstants {
  F body;
};

/// Allows a kernel's lambda to capture host values: Kernel k{"k", with_constants([n](View<float> x) { ...
/// })}. They become constants of the kernel; changing the host variables afterwards has no effect on it.
template <class F>
WithConstants<F> with_constants(F body) {
  return {std::move(body)};
}

namespace detail {

template <class F>
struct SignatureOf {
  static_assert(
      requires { &F::operator(); },
      "the parameters of a kernel's lambda are written out, View<T> or Value<T>, not auto");
  using type = typename SignatureOf<decltype(&F::operator())>::type;
};
template <class R, class... P>
struct SignatureOf<R (*)(P...)> {
  static_assert(std::is_void_v<R>, "a kernel returns nothing: store results to a View parameter");
  using type = void(std::remove_cvref_t<P>...);
};
template <class R, class C, class... P>
struct SignatureOf<R (C::*)(P...)> : SignatureOf<R (*)(P...)> {};
template <class R, class C, class... P>
struct SignatureOf<R (C::*)(P...) const> : SignatureOf<R (*)(P...)> {};
template <class F>
struct SignatureOf<WithConstants<F>> : SignatureOf<F> {};
template <class F>
using signature_t = typename SignatureOf<std::remove_cvref_t<F>>::type;

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
        is_stream<A>,
        "a View parameter takes a device array: device.array_of<T>(values) makes one from host memory");
  }
  const AnyArrayView* view() const noexcept { return view_; }

 private:
  const AnyArrayView* view_;
};

/// The launch argument for a Value<T>: a T, or a number that converts to T without loss. An
/// integer that would lose it is passed on as it is, for the launch to refuse with the names of the kernel
/// and the parameter.
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
    static_assert(is_stream<A>,
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
      return static_cast<T>(value);
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

template <class P>
struct KernelParameter {
  static_assert(always_false<P>, "the parameters of a kernel are View<T, Rank> and Value<T>");
};
template <class T, std::size_t Rank>
struct KernelParameter<View<T, Rank>> {
  using Argument = ArrayArgument<T, Rank>;
  static constexpr ParameterType type{true, element_type<std::remove_const_t<T>>, Rank};
  static LaunchArgument argument(const Argument& a) noexcept { return {a.view(), nullptr, type.element}; }
};
template <class T>
struct KernelParameter<Value<T>> {
  using Argument = ScalarArgument<T>;
  static constexpr ParameterType type{false, element_type<T>, 0};
  static LaunchArgument argument(const Argument& a) noexcept { return a.argument(); }
};

struct KernelParameters {
  template <class P>
  static P make(std::uint32_t trace, std::size_t index, const Handle* const* components) {
    if constexpr (KernelParameter<P>::type.is_array) {
      return P(trace, static_cast<std::uint32_t>(index));
    } else {
      return Access::value<typename P::value_type>(components[index]);
    }
  }
};

template <class F, class... P>
struct KernelBody {
  static void call(void* lambda, std::uint32_t trace, const Handle* const* components) {
    call(*static_cast<F*>(lambda), trace, components, std::index_sequence_for<P...>());
  }
  template <std::size_t... I>
  static void call(F& lambda, [[maybe_unused]] std::uint32_t trace,
                   [[maybe_unused]] const Handle* const* components, std::index_sequence<I...>) {
    lambda(KernelParameters::make<P>(trace, I, components)...);
  }
};

template <class F>
F& lambda_of(F& body) {
  static_assert(
      std::is_empty_v<F> || std::is_pointer_v<F>,
      "the lambda of a kernel must not capture, because captured values are fixed when the kernel is built: "
      "pass them as Value<T> parameters, or wrap the lambda in with_constants(...) to fix them now");
  return body;
}
template <class F>
F& lambda_of(WithConstants<F>& constants) {
  return constants.body;
}

template <class F, class... P>
KernelSource source_of(std::string_view name, F& lambda, const KernelOptions& options, Where where) {
  static constexpr ParameterType parameters[sizeof...(P) + 1] = {KernelParameter<P>::type..., {}};
  KernelSource source;
  source.name = name;
  source.fast_math = options.fast_math;
  source.check_bounds = options.check_bounds;
  source.fusion = options.fusion;
  source.parameter_names = options.parameter_names.data();
  source.parameter_name_count = options.parameter_names.size();
  source.parameters = parameters;
  source.parameter_count = sizeof...(P);
  source.body = &KernelBody<F, P...>::call;
  source.lambda = &lambda;
  source.where = where;
  return source;
}

/// The device of the first array among the arguments, or the default device.
WEIR_API Device device_of(const LaunchArgument* arguments, std::size_t count);

}  // namespace detail

template <class Signature>
class Kernel;

/// A kernel: the lambda is called once, here, with traced parameters, and its operations are recorded.
/// The type follows from the lambda: Kernel k{"k", [](View<float> x, Value<float> a) { ... }} is a
/// Kernel<void(View<float>, Value<float>)>. A cheap handle to shared, immutable state; all functions may be
/// called from several threads.
template <class... P>
class Kernel<void(P...)> {
 public:
  /// Throws one Error{kernel} that lists everything that is wrong, with file and line. Exceptions of the
  /// lambda pass through.
  template <class F>
  Kernel(std::string_view name, F body, const KernelOptions& options = {},
         detail::Where where = detail::Where::current())
      : program_(trace(name, detail::lambda_of(body), options, where)) {}

  /// Submits one run to `stream` and returns without waiting for it; throws as Program::launch does.
  void operator()(const StreamRef& stream,
                  const typename detail::KernelParameter<P>::Argument&... arguments) const {
    (*this)(LaunchOptions(), stream, arguments...);
  }
  void operator()(const LaunchOptions& options, const StreamRef& stream,
                  const typename detail::KernelParameter<P>::Argument&... arguments) const {
    const LaunchArgument list[sizeof...(P) + 1] = {detail::KernelParameter<P>::argument(arguments)..., {}};
    program_.launch(stream, {list, sizeof...(P)}, options);
  }
  /// On the current stream of the arrays' device.
  void operator()(const typename detail::KernelParameter<P>::Argument&... arguments) const {
    const LaunchArgument list[sizeof...(P) + 1] = {detail::KernelParameter<P>::argument(arguments)..., {}};
    program_.launch(current_stream(detail::device_of(list, sizeof...(P))), {list, sizeof...(P)});
  }
  /// Any other number of arguments is refused.
  template <class... A>
  requires(sizeof...(A) < sizeof...(P) || sizeof...(A) > sizeof...(P) + 2) void operator()(
      const A&...) const {
    static_assert(
        detail::always_false<A...>,
        "this launch has too few or too many arguments: the kernel takes one for each parameter of its "
        "lambda, after a stream if one is named");
  }
  template <class First, class... A>
  requires(sizeof...(A) == sizeof...(P) && !std::convertible_to<const First&, StreamRef>) void operator()(
      const First&, const A&...) const {
    static_assert(
        detail::always_false<First>,
        "this launch has too many arguments, or its first one is no stream: the kernel takes one for "
        "each parameter of its lambda, after a stream if one is named");
  }

  /// How the loops became tasks; see Program::explain.
  std::string explain(const StreamRef& stream) const { return program_.explain(stream); }

  const Program& program() const noexcept { return program_; }
  /// The text form of the recorded kernel.
  std::string ir(bool with_locations = false) const { return program_.text(with_locations); }

 private:
  template <class F>
  static Program trace(std::string_view name, F& lambda, const KernelOptions& options, detail::Where where) {
    const Program program = detail::trace_program(detail::source_of<F, P...>(name, lambda, options, where));
    if (options.debug) program.debug();
    return program;
  }

  Program program_;
};

template <class F>
Kernel(std::string_view, F, const KernelOptions& = {}, detail::Where = {}) -> Kernel<detail::signature_t<F>>;

}  // namespace weir
