// SPDX-License-Identifier: Apache-2.0
// Reductions of arrays, by those of the kernel language.
#include "algorithms/check_arrays.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

template <class T, class At>
Value<T> reduced(Combine combine, const Index& n, const At& at) {
  if constexpr (std::integral<T>) {
    if (combine == Combine::bit_and) return reduce_and(n, at);
    if (combine == Combine::bit_or) return reduce_or(n, at);
    if (combine == Combine::bit_xor) return reduce_xor(n, at);
  }
  return combine == Combine::sum   ? reduce_sum(n, at)
         : combine == Combine::min ? reduce_min(n, at)
                                   : reduce_max(n, at);
}

template <class T>
using ReduceKernel = void(View<const T>, View<T>, Size);

/// Of elements of `components` scalars. `sized`: the number of elements is a Size.
template <class T>
const Kernel<ReduceKernel<T>>& reduce_kernel(Combine combine, std::uint32_t components, bool sized) {
  static auto& cache = *new KernelCache<ReduceKernel<T>>;
  constexpr std::uint32_t max_components = 256;
  const std::uint32_t variant =
      (static_cast<std::uint32_t>(combine) * max_components + components) * 2 + sized;
  return cache.get(variant, [&] {
    return Kernel<ReduceKernel<T>>("reduce", with_constants([=](View<const T> x, View<T> result, Size used) {
                                     const std::int64_t each = components;
                                     const Index n = x.size() / each;
                                     for (std::int64_t c = 0; c < each; ++c)
                                       result[c] =
                                           reduced<T>(combine, sized ? at_most(n, used) : n,
                                                      [&](Index i) { return Value<T>(x[i * each + c]); });
                                   }));
  });
}

template <class T>
using ArgKernel = void(View<const T>, View<std::int64_t>, Size);

template <class T>
const Kernel<ArgKernel<T>>& arg_kernel(bool greatest, bool sized) {
  static auto& cache = *new KernelCache<ArgKernel<T>>;
  return cache.get(greatest * 2u + sized, [&] {
    return Kernel<ArgKernel<T>>(greatest ? "arg_max" : "arg_min",
                                with_constants([=](View<const T> x, View<std::int64_t> index, Size used) {
                                  const auto at = [&](Index i) { return Value<T>(x[i]); };
                                  const Index n = sized ? at_most(x.size(), used) : x.size();
                                  index[0] = greatest ? arg_max(n, at) : arg_min(n, at);
                                }));
  });
}

}  // namespace

void submit_reduce(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                   const AnyArrayView& used) {
  const auto components = static_cast<std::uint32_t>(x.element().components());
  for_number_type(x.element().scalar, [&]<class T>(T) {
    steps.launch(reduce_kernel<T>(combine, components, !used.empty()), as_scalars(x), as_scalars(result),
                 used);
  });
}

}  // namespace weir::algorithms

namespace weir::detail {

void reduce(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result,
            Combine combine) try {
  algorithms::expect_usable("reduce", target, {{"x", x}, {"result", result}});
  algorithms::expect_one_element("reduce", {"result", result});
  algorithms::expect_apart("reduce", {"result", result}, {"x", x});
  algorithms::expect_combinable("reduce", {"x", x}, combine);
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    algorithms::submit_reduce(steps, x, result, combine, steps.size(x));
  });
} catch (...) {
  rethrow_as_error();
}

void arg_extreme(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
                 bool greatest) try {
  const char* function = greatest ? "arg_max" : "arg_min";
  algorithms::expect_usable(function, target, {{"x", x}, {"index", index}});
  algorithms::expect_one_element(function, {"index", index});
  algorithms::expect_apart(function, {"index", index}, {"x", x});
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    const AnyArrayView used = steps.size(x);
    algorithms::for_number_type(x.element().scalar, [&]<class T>(T) {
      steps.launch(algorithms::arg_kernel<T>(greatest, !used.empty()), x, index, used);
    });
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
