// SPDX-License-Identifier: Apache-2.0
// Values that a kernel's lambda returns. Each is an array parameter of rank 0 in the IR, after the lambda's
// own parameters. Internal: users include <weir/kernel.hpp>.
// Threads: functions may be called from any thread; objects are for one thread.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <weir/dsl/value.hpp>
#include <weir/dsl/view.hpp>
#include <weir/future.hpp>
#include <weir/kernel_arguments.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>

namespace weir::detail {

inline constexpr std::size_t max_returned_bytes = 4096;  ///< of one launch
/// The distance to the next value; generated code relies on 16 bytes.
constexpr std::size_t returned_stride(std::size_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

template <class... T>
struct ReturnedTypes {
  static constexpr std::size_t count = sizeof...(T);
  static constexpr std::size_t bytes = (std::size_t{0} + ... + returned_stride(sizeof(T)));
  static_assert(
      bytes <= max_returned_bytes,
      "a kernel returns at most 4096 bytes of values, each rounded up to 16: store larger results to "
      "a View parameter");
  static constexpr std::array<ElementType, count> elements{element_type<T>...};
  static constexpr std::array<std::size_t, count + 1> offsets = [] {
    std::array<std::size_t, count + 1> result{};
    const std::size_t sizes[count + 1] = {sizeof(T)..., 0};
    for (std::size_t i = 0; i < count; ++i) result[i + 1] = result[i] + returned_stride(sizes[i]);
    return result;
  }();
};

/// The return type R of a kernel's lambda. `Futures` is what a launch returns, `stored` the signature of the
/// kernel with an array for each value.
template <class R>
struct Returned {
  static_assert(always_false<R>,
                "a kernel returns nothing, or values that it has computed: one Value<T>, or a std::tuple, "
                "std::pair or std::array of them");
};
template <>
struct Returned<void> {
  using Types = ReturnedTypes<>;
  using Futures = void;
  template <class... P>
  using Stored = void(P...);
};
template <class T>
struct Returned<Value<T>> {
  using Types = ReturnedTypes<T>;
  using Futures = Future<T>;
  template <class... P>
  using Stored = void(P..., View<T, 0>);
  template <class Make>
  static Futures futures(const Make& make) {
    return make.template operator()<T>(0);
  }
  template <class Store>
  static void each(const Value<T>& value, const Store& store) {
    store(0, value);
  }
};
template <class... T>
struct Returned<std::tuple<Value<T>...>> {
  static_assert(sizeof...(T) > 0, "a kernel that returns no values returns void");
  using Types = ReturnedTypes<T...>;
  using Futures = std::tuple<Future<T>...>;
  template <class... P>
  using Stored = void(P..., View<T, 0>...);
  template <class Make>
  static Futures futures(const Make& make) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Futures{make.template operator()<T>(I)...};
    }
    (std::index_sequence_for<T...>());
  }
  template <class Values, class Store>
  static void each(const Values& values, const Store& store) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (store(I, std::get<I>(values)), ...);
    }
    (std::index_sequence_for<T...>());
  }
};
template <class A, class B>
struct Returned<std::pair<Value<A>, Value<B>>> : Returned<std::tuple<Value<A>, Value<B>>> {
  using Futures = std::pair<Future<A>, Future<B>>;
  template <class Make>
  static Futures futures(const Make& make) {
    return {make.template operator()<A>(0), make.template operator()<B>(1)};
  }
};
template <class T, class I>
struct ReturnedArray;
template <class T, std::size_t... I>
struct ReturnedArray<T, std::index_sequence<I...>> {
  template <std::size_t>
  using Same = T;
  using Tuple = std::tuple<Value<Same<I>>...>;
};
template <class T, std::size_t N>
struct Returned<std::array<Value<T>, N>>
    : Returned<typename ReturnedArray<T, std::make_index_sequence<N>>::Tuple> {
  using Futures = std::array<Future<T>, N>;
  template <class Make>
  static Futures futures(const Make& make) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Futures{make.template operator()<T>(I)...};
    }
    (std::make_index_sequence<N>());
  }
};

/// R with elements and variables as the values that are read when the lambda returns them.
template <class R>
struct ReturnedAs {
  using type = R;
};
template <Traced R>
struct ReturnedAs<R> {
  using type = Value<traced_t<R>>;
};

/// Records the stores of the returned values to the parameters from `first` on.
template <class R>
void store_returned(const R& values, std::uint32_t trace, std::size_t first) {
  Returned<R>::each(values, [&]<class T>(std::size_t i, const Value<T>& value) {
    Place place;
    place.trace = trace;
    place.id = static_cast<std::uint32_t>(first + i);
    write_place<T>(place, Access::components(value), Where());
  });
}

/// The arguments of a launch, followed by those for the returned values.
template <class R, class... P>
class ReturningList {
 public:
  explicit ReturningList(const typename KernelParameter<P>::Argument&... arguments) noexcept {
    [[maybe_unused]] std::size_t p = 0;
    (KernelParameter<P>::write(arguments, list_.data() + ParameterList<P...>::first[p++]), ...);
    const auto& elements = Returned<R>::Types::elements;
    for (std::size_t i = 0; i < elements.size(); ++i)
      list_[ParameterList<P...>::count + i] = {&returned_[i], nullptr, elements[i], {}};
  }
  ReturningList(const ReturningList&) = delete;
  ReturningList& operator=(const ReturningList&) = delete;

  std::span<const LaunchArgument> all() const noexcept { return list_; }
  std::span<AnyArrayView> returned() noexcept { return returned_; }
  std::span<const LaunchArgument> given() const noexcept {
    return {list_.data(), ParameterList<P...>::count};
  }

 private:
  std::array<AnyArrayView, Returned<R>::Types::count> returned_;
  std::array<LaunchArgument, ParameterList<P...>::count + Returned<R>::Types::count> list_;
};

/// Submits a launch. Its last arguments are for the returned values and refer to `to`, whose memory this
/// function chooses. Returns one share of the values. Throws as Program::launch.
WEIR_API ReturnedValues* launch_returning(const Program& program, const StreamRef& stream,
                                          std::span<const LaunchArgument> arguments,
                                          std::span<AnyArrayView> to, const LaunchOptions& options);

template <class R>
struct FutureMaker {
  ReturnedShare& share;  ///< the last future takes it
  template <class T>
  Future<T> operator()(std::size_t i) const {
    using Types = typename Returned<R>::Types;
    return Future<T>(i + 1 < Types::count ? share.another() : std::move(share), Types::offsets[i]);
  }
};

template <class R, class... P>
typename Returned<R>::Futures launch_returning(const Program& program, const StreamRef& stream,
                                               ReturningList<R, P...>& list, const LaunchOptions& options) {
  if constexpr (std::is_void_v<R>) {
    program.launch(stream, list.given(), options);
  } else {
    ReturnedShare share(launch_returning(program, stream, list.all(), list.returned(), options));
    return Returned<R>::futures(FutureMaker<R>{share});
  }
}

}  // namespace weir::detail
