// SPDX-License-Identifier: Apache-2.0
// Runs the samples of a documentation page. check_page.cmake turns each fragment of C++ into a function whose parameters the page
// declares; run() makes an argument of each parameter's type and calls it on the CPU driver.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

namespace weir::samples {

/// Makes an argument of type T. Specialised for each type that a page declares.
template <class T>
struct Argument;

template <>
struct Argument<Device> {
  Device value = open("cpu");
};
template <>
struct Argument<StreamRef> {
  Stream owner = open("cpu").create_stream();
  StreamRef value = owner;
};
template <>
struct Argument<std::size_t> {
  std::size_t value = 1000;
};
template <class T>
struct Argument<std::vector<T>> {
  std::vector<T> value = std::vector<T>(1000, T(1));
};
template <class T>
struct Argument<Array<T>> {
  Array<T> value = open("cpu").array_of<T>(std::vector<T>(1000, T(1)));
};
template <class T>
struct Argument<PinnedArray<T>> {
  PinnedArray<T> value = open("cpu").pinned_array<T>(1000);
};
template <class... P>
struct Argument<Kernel<void(P...)>> {
  Kernel<void(P...)> value{"sample", +[](P...) {}};
};

template <class T, class Made>
decltype(auto) pass(Made& made) {
  if constexpr (std::is_lvalue_reference_v<T>) {
    return static_cast<T>(made.value);
  } else {
    return T(made.value);
  }
}

/// Calls `sample` with arguments made for its parameters.
template <class... P>
void run(void (*sample)(P...)) {
  std::tuple<Argument<std::remove_cvref_t<P>>...> made;
  std::apply([&](auto&... argument) { sample(pass<P>(argument)...); }, made);
  open("cpu").synchronize();
}

}  // namespace weir::samples
