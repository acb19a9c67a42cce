// SPDX-License-Identifier: Apache-2.0
// Kernels written as C++ lambdas: the kernel language. sdk/docs/kernel-language.md explains it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/array.hpp>
#include <weir/current_stream.hpp>
#include <weir/dsl/algorithm.hpp>
#include <weir/dsl/atomic.hpp>
#include <weir/dsl/common.hpp>
#include <weir/dsl/control.hpp>
#include <weir/dsl/function.hpp>
#include <weir/dsl/group.hpp>
#include <weir/dsl/linear_algebra.hpp>
#include <weir/dsl/math.hpp>
#include <weir/dsl/math_results.hpp>
#include <weir/dsl/matrix.hpp>
#include <weir/dsl/print.hpp>
#include <weir/dsl/random.hpp>
#include <weir/dsl/reduce.hpp>
#include <weir/dsl/relational.hpp>
#include <weir/dsl/std_functions.hpp>
#include <weir/dsl/struct.hpp>
#include <weir/dsl/value.hpp>
#include <weir/dsl/view.hpp>
#include <weir/kernel_arguments.hpp>
#include <weir/program.hpp>
#include <weir/returned_values.hpp>

namespace weir {

struct KernelOptions {
  bool fast_math = false;     ///< faster, and no longer the same bits on every driver
  bool check_bounds = false;  ///< an index outside its array fails the launch, like an assert_
  /// Neighbouring loops may become one task where that changes no result. WEIR_FUSION=off in the environment
  /// keeps all loops of all kernels apart.
  bool fusion = true;
  bool debug =
      false;  ///< launches run in the interpreter with its checks, as by WEIR_DEBUG; see Program::debug
  /// Names of the parameters and then of the returned values, for messages and the text form. The defaults
  /// are p0, p1, ..., and result or result_0, result_1, ... for returned values.
  std::vector<std::string> parameter_names = {};
  /// Chains of short loops may run in one block, one loop after the other, where that saves launches.
  bool phases = true;
  /// Refuses atomics of parallel iterations whose effect depends on the order of the iterations, such as sums
  /// of floats: the constructor throws Error{kernel}. Reductions have a fixed order.
  bool deterministic = false;
  /// Loops that do not depend on each other may run at the same time, as stream blocks do.
  bool concurrency = true;
  /// The number of threads, at most 2048, for which a GPU's multiprocessor must have registers. It bounds the
  /// registers of a loop's threads; the compiler keeps other values in memory. With 0, or a bound that a
  /// target cannot keep, the compiler chooses the number of registers. Changes no result. For NVIDIA and AMD
  /// GPUs; like the second number of CUDA's __launch_bounds__, but in threads.
  std::uint32_t min_resident_threads = 0;
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
  using type = typename ReturnedAs<R>::type(std::remove_cvref_t<P>...);
};
template <class R, class C, class... P>
struct SignatureOf<R (C::*)(P...)> : SignatureOf<R (*)(P...)> {};
template <class R, class C, class... P>
struct SignatureOf<R (C::*)(P...) const> : SignatureOf<R (*)(P...)> {};
template <class F>
struct SignatureOf<WithConstants<F>> : SignatureOf<F> {};
template <class F>
using signature_t = typename SignatureOf<std::remove_cvref_t<F>>::type;

template <class F, class R, class... P>
struct KernelBody {
  static void call(void* lambda, std::uint32_t trace, const Handle* const* components) {
    call(*static_cast<F*>(lambda), trace, components, std::index_sequence_for<P...>());
  }
  template <std::size_t... I>
  static void call(F& lambda, [[maybe_unused]] std::uint32_t trace,
                   [[maybe_unused]] const Handle* const* components, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      lambda(KernelParameters::make<P>(trace, ParameterList<P...>::first[I], components)...);
    } else {
      const R values(lambda(KernelParameters::make<P>(trace, ParameterList<P...>::first[I], components)...));
      store_returned<R>(values, trace, ParameterList<P...>::count);
    }
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

template <class... P>
const ParameterList<P...>& parameters_of(void (*)(P...)) {
  static const ParameterList<P...> parameters;
  return parameters;
}

template <class F, class R, class... P>
KernelSource source_of(std::string_view name, F& lambda, const KernelOptions& options, Where where) {
  const auto& parameters = parameters_of(static_cast<typename Returned<R>::template Stored<P...>*>(nullptr));
  KernelSource source;
  source.name = name;
  source.fast_math = options.fast_math;
  source.check_bounds = options.check_bounds;
  source.debug = options.debug;
  source.fusion = options.fusion;
  source.phases = options.phases;
  source.concurrency = options.concurrency;
  source.deterministic = options.deterministic;
  source.min_resident_threads = options.min_resident_threads;
  source.parameter_names = options.parameter_names.data();
  source.parameter_name_count = options.parameter_names.size();
  source.parameters = parameters.types.data();
  source.parameter_count = parameters.count;
  source.structs = parameters.structs.data();
  source.struct_count = parameters.struct_count;
  source.returned_count = Returned<R>::Types::count;
  source.body = &KernelBody<F, R, P...>::call;
  source.lambda = &lambda;
  source.where = where;
  return source;
}

/// The device of the first array among the arguments, or the default device.
WEIR_API Device device_of(const LaunchArgument* arguments, std::size_t count);

}  // namespace detail

template <class Signature>
class Kernel;

/// A kernel. The constructor calls the lambda once, with traced parameters, and records its operations. The
/// type follows from the lambda: Kernel k{"k", [](View<float> x, Value<float> a) { ... }} is a
/// Kernel<void(View<float>, Value<float>)>. If the lambda returns a Value, or a std::tuple, std::pair or
/// std::array of them, a launch returns a Future for each. A cheap handle to shared, immutable state; all
/// functions may be called from several threads.
template <class R, class... P>
class Kernel<R(P...)> {
 public:
  /// Future<T> for a Value<T>, a std::tuple of futures for a std::tuple, void for void.
  using Futures = typename detail::Returned<R>::Futures;

  /// Throws one Error{kernel} that lists all mistakes, with file and line. Exceptions of the lambda pass
  /// through.
  template <class F>
  Kernel(std::string_view name, F body, const KernelOptions& options = {},
         detail::Where where = detail::Where::current())
      : program_(trace(name, detail::lambda_of(body), options, where)) {}

  /// Submits one run to `stream` and returns without waiting for it; throws as Program::launch does.
  Futures operator()(const StreamRef& stream,
                     const typename detail::KernelParameter<P>::Argument&... arguments) const {
    return (*this)(LaunchOptions(), stream, arguments...);
  }
  Futures operator()(const LaunchOptions& options, const StreamRef& stream,
                     const typename detail::KernelParameter<P>::Argument&... arguments) const {
    detail::ReturningList<R, P...> list(arguments...);
    return detail::launch_returning(program_, stream, list, options);
  }
  /// On the current stream of the arrays' device.
  Futures operator()(const typename detail::KernelParameter<P>::Argument&... arguments) const {
    detail::ReturningList<R, P...> list(arguments...);
    const auto given = list.given();
    return detail::launch_returning(program_, current_stream(detail::device_of(given.data(), given.size())),
                                    list, LaunchOptions());
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

  /// Compiles for the devices in the background and returns at once; see Program::prepare.
  Preparation prepare(std::span<const Device> devices) const { return program_.prepare(devices); }
  Preparation prepare(const Device& device) const { return program_.prepare(device); }

  /// How the loops became tasks; see Program::explain.
  std::string explain(const StreamRef& stream) const { return program_.explain(stream); }

  const Program& program() const noexcept { return program_; }
  /// The text form of the recorded kernel.
  std::string ir(bool with_locations = false) const { return program_.text(with_locations); }

 private:
  template <class F>
  static Program trace(std::string_view name, F& lambda, const KernelOptions& options, detail::Where where) {
    const Program program =
        detail::trace_program(detail::source_of<F, R, P...>(name, lambda, options, where));
    if (options.debug) program.debug();
    return program;
  }

  Program program_;
};

template <class F>
Kernel(std::string_view, F, const KernelOptions& = {}, detail::Where = {}) -> Kernel<detail::signature_t<F>>;

}  // namespace weir
