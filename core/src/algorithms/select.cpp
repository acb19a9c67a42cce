// SPDX-License-Identifier: Apache-2.0
// compact, partition and unique. The form for CPUs: the number of kept elements of each chunk, an exclusive
// scan of these, and a move of each chunk's elements to their places. group_select.cpp has the form for
// groups.
#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::algorithms {
namespace {

/// Also writes the 0 after the last chunk, which the scan turns into the total.
const Kernel<void(View<const bool>, View<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>, Size)>&
kept_kernel() {
  static const auto& kernel = *new Kernel(
      "select_count",
      [](View<const bool> keep, View<std::int64_t> kept, Index size, Index chunks, Size used) {
        range_for(chunks, [&](Index chunk) {
          Var<std::int64_t> sum = 0;
          for_chunk(chunk, size, elements_of(keep.size(), used), [&](Index i) {
            const Value<bool> keeps = keep[i];
            sum += cast<std::int64_t>(keeps);
          });
          kept[chunk] = sum;
          if_(chunk == 0, [&] { kept[chunks] = 0; });
        });
      });
  return kernel;
}

template <class U>
using SelectKernel = void(View<const U>, View<const bool>, View<const std::int64_t>, View<U>,
                          Value<std::int64_t>, Value<std::int64_t>, Size);

/// Kernels by the number of words of an element.
template <class U>
const Kernel<SelectKernel<U>>& select_kernel(std::int64_t words, bool with_rest) {
  static auto& cache = *new KernelCache<SelectKernel<U>>;
  return cache.get(static_cast<std::uint32_t>(words) * 2 + with_rest, [&] {
    return Kernel<SelectKernel<U>>(
        with_rest ? "partition" : "compact",
        with_constants([=](View<const U> x, View<const bool> keep, View<const std::int64_t> kept,
                           View<U> result, Index size, Index chunks, Size used) {
          range_for(chunks, [&](Index chunk) {
            Var<std::int64_t> place = kept[chunk];
            const auto move = [&](const Index& i, const Index& to) {
              for_(0, words, [&](Index c) { result[to * words + c] = x[i * words + c]; });
            };
            for_chunk(chunk, size, elements_of(keep.size(), used), [&](Index i) {
              const Value<bool> keeps = keep[i];
              const Index before = place;
              if (with_rest)
                move(i, select(keeps, before, kept[chunks] + (i - before)));
              else
                if_(keeps, [&] { move(i, before); });
              place = before + cast<std::int64_t>(keeps);
            });
          });
        }));
  });
}

template <class T>
const Kernel<void(View<const T>, View<bool>)>& heads_kernel() {
  static const auto& kernel =
      *new Kernel<void(View<const T>, View<bool>)>("heads", [](View<const T> x, View<bool> heads) {
        range_for(x.size(), [&](Index i) {
          const Value here = x[i], before = x[max(i, 1) - 1];
          heads[i] = (i == 0) | (here != before);
        });
      });
  return kernel;
}

}  // namespace

AnyArrayView submit_select(const Steps& steps, const AnyArrayView& x, const AnyArrayView& keep,
                           const AnyArrayView& result, const AnyArrayView& count, bool with_rest,
                           const Chunks& chunks) {
  const AnyArrayView kept = steps.scratch(element_type<std::int64_t>, chunks.count + 1);
  steps.launch(kept_kernel(), keep, kept, chunks.size, chunks.count, steps.size(keep));
  submit_scan(steps, kept, kept, Combine::sum, false, no_elements(kept));
  const AnyArrayView from = as_words(x), to = as_words(result);
  for_word_type(from, [&]<class U>(U) {
    steps.launch(select_kernel<U>(static_cast<std::int64_t>(x.element().components()), with_rest), from, keep,
                 kept, to, chunks.size, chunks.count, steps.size(keep));
  });
  const std::int64_t one[] = {1};
  const auto total = static_cast<std::uint64_t>(chunks.count) * sizeof(std::int64_t);
  steps.copy(count, kept.reinterpreted(total, kept.element(), one));
  return kept;
}

void submit_heads(const Steps& steps, const AnyArrayView& x, const AnyArrayView& heads) {
  for_element_type(x.element().scalar, [&]<class T>(T) { steps.launch(heads_kernel<T>(), x, heads); });
}

}  // namespace weir::algorithms

namespace weir::detail {

void select(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& keep,
            const AnyArrayView& result, const AnyArrayView& count, bool with_rest) try {
  const char* function = with_rest ? "partition" : "compact";
  const algorithms::Named flags{with_rest ? "first" : "keep", keep};
  algorithms::expect_usable(function, target, {{"x", x}, flags, {"result", result}, {"count", count}});
  algorithms::expect_equal_size(function, flags, {"x", x});
  algorithms::expect_equal_size(function, {"result", result}, {"x", x});
  algorithms::expect_one_element(function, {"count", count});
  algorithms::expect_apart(function, {"result", result}, {"x", x});
  algorithms::expect_apart(function, {"result", result}, flags);
  for (const algorithms::Named& other :
       {algorithms::Named{"result", result}, algorithms::Named{"x", x}, flags})
    algorithms::expect_apart(function, {"count", count}, other);
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    if (x.empty()) return steps.fill_zero(count);
    if (algorithms::uses_groups(steps.device()))
      return algorithms::submit_group_select(steps, x, keep, result, count, with_rest);
    algorithms::submit_select(steps, x, keep, result, count, with_rest, algorithms::fixed_chunks(x.size()));
  });
} catch (...) {
  rethrow_as_error();
}

void unique(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result,
            const AnyArrayView& count) try {
  algorithms::expect_usable("unique", target, {{"x", x}, {"result", result}, {"count", count}});
  algorithms::expect_equal_size("unique", {"result", result}, {"x", x});
  algorithms::expect_one_element("unique", {"count", count});
  algorithms::expect_apart("unique", {"result", result}, {"x", x});
  algorithms::expect_apart("unique", {"count", count}, {"result", result});
  algorithms::expect_apart("unique", {"count", count}, {"x", x});
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    if (x.empty()) return steps.fill_zero(count);
    if (algorithms::uses_groups(steps.device()))
      return algorithms::submit_group_unique(steps, x, result, count);
    const auto n = static_cast<std::int64_t>(x.size());
    const AnyArrayView heads = steps.scratch(element_type<bool>, n);
    algorithms::submit_heads(steps, x, heads);
    algorithms::submit_select(steps, x, heads, result, count, false, algorithms::fixed_chunks(x.size()));
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
