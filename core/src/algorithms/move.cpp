// SPDX-License-Identifier: Apache-2.0
// gather and scatter. Elements are moved as the words that they consist of, so that there is one kernel for
// each size of scalar and number of components.
#include "algorithms/check_arrays.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

template <class U, class I>
using Move = void(View<const U>, View<const I>, View<U>, Size);

/// Kernels by the number of words of an element, and whether the number of elements is a Size.
template <class U, class I>
const Kernel<Move<U, I>>& gather_kernel(std::int64_t words, bool sized) {
  static auto& cache = *new KernelCache<Move<U, I>>;
  return cache.get(static_cast<std::uint32_t>(words) * 2 + sized, [&] {
    return Kernel<Move<U, I>>(
        "gather", with_constants([=](View<const U> x, View<const I> index, View<U> result, Size used) {
          const Index n = x.size() / words;
          range_for(sized ? at_most(index.size(), used) : index.size(), [&](Index i) {
            const Index from = cast<std::int64_t>(index[i]);
            assert_((from >= 0) & (from < n),
                    "gather: a number in 'index' is outside 'x'; the iteration is its position");
            for_(0, words, [&](Index c) { result[i * words + c] = x[from * words + c]; });
          });
        }));
  });
}

template <class U, class I>
const Kernel<Move<U, I>>& scatter_kernel(std::int64_t words, bool sized) {
  static auto& cache = *new KernelCache<Move<U, I>>;
  return cache.get(static_cast<std::uint32_t>(words) * 2 + sized, [&] {
    return Kernel<Move<U, I>>("scatter", with_constants([=](View<const U> x, View<const I> index,
                                                            View<U> result, Size used) {
                                const Index n = result.size() / words;
                                range_for(sized ? at_most(index.size(), used) : index.size(), [&](Index i) {
                                  const Index to = cast<std::int64_t>(index[i]);
                                  assert_((to >= 0) & (to < n),
                                          "scatter: a number in 'index' is outside 'result'; the iteration "
                                          "is its position");
                                  for_(0, words, [&](Index c) { result[to * words + c] = x[i * words + c]; });
                                });
                              }));
  });
}

template <class Action>
void for_index_type(const AnyArrayView& index, const Action& action) {
  switch (index.element().scalar) {
    case ScalarType::i32:
      return action(std::int32_t());
    case ScalarType::u32:
      return action(std::uint32_t());
    case ScalarType::i64:
      return action(std::int64_t());
    default:
      return action(std::uint64_t());
  }
}

void submit_scatter(const Steps& steps, const AnyArrayView& x, const AnyArrayView& index,
                    const AnyArrayView& result, const AnyArrayView& used) {
  const AnyArrayView from = as_words(x), to = as_words(result);
  const auto words = static_cast<std::int64_t>(x.element().components());
  for_word_type(from, [&]<class U>(U) {
    for_index_type(index, [&]<class I>(I) {
      steps.launch(scatter_kernel<U, I>(words, !used.empty()), from, index, to, used);
    });
  });
}

}  // namespace

void submit_gather(const Steps& steps, const AnyArrayView& x, const AnyArrayView& index,
                   const AnyArrayView& result, const AnyArrayView& used) {
  if (index.empty()) return;
  const AnyArrayView from = as_words(x), to = as_words(result);
  const auto words = static_cast<std::int64_t>(x.element().components());
  for_word_type(from, [&]<class U>(U) {
    for_index_type(index, [&]<class I>(I) {
      steps.launch(gather_kernel<U, I>(words, !used.empty()), from, index, to, used);
    });
  });
}

}  // namespace weir::algorithms

namespace weir::detail {

void gather(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
            const AnyArrayView& result) try {
  algorithms::expect_usable("gather", target, {{"x", x}, {"index", index}, {"result", result}});
  algorithms::expect_equal_size("gather", {"result", result}, {"index", index});
  algorithms::expect_apart("gather", {"result", result}, {"x", x});
  algorithms::expect_apart("gather", {"result", result}, {"index", index});
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    algorithms::submit_gather(steps, x, index, result, steps.size(index));
  });
} catch (...) {
  rethrow_as_error();
}

void scatter(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
             const AnyArrayView& result) try {
  algorithms::expect_usable("scatter", target, {{"x", x}, {"index", index}, {"result", result}});
  algorithms::expect_equal_size("scatter", {"index", index}, {"x", x});
  algorithms::expect_apart("scatter", {"result", result}, {"x", x});
  algorithms::expect_apart("scatter", {"result", result}, {"index", index});
  if (x.empty()) return;
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    algorithms::submit_scatter(steps, x, index, result, steps.size(index));
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
