// SPDX-License-Identifier: Apache-2.0
// Stable radix sort, from the least significant byte on. The form for CPUs: counts by digit and chunk, their
// scan in the order of digits, and a move of each chunk's elements to their places. group_sort.cpp has the
// form for groups.
#include "algorithms/sort.hpp"

#include <fmt/format.h>

#include <utility>

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

/// Bounds the counts to 128 MiB.
constexpr std::uint64_t max_chunks = 65536;

template <class U>
using CountKernel = void(View<const U>, View<std::int64_t>, Value<U>, Value<std::int64_t>,
                         Value<std::int64_t>);

template <class U>
const Kernel<CountKernel<U>>& count_kernel(const KeyOrder& order) {
  static auto& cache = *new KernelCache<CountKernel<U>>;
  return cache.get(order.number(), [&] {
    return Kernel<CountKernel<U>>(
        "sort_count", with_constants([order](View<const U> keys, View<std::int64_t> counts, Value<U> shift,
                                             Index size, Index chunks) {
          range_for(chunks, [&](Index chunk) {
            LocalArray<std::int64_t, digits> count;
            for_chunk(chunk, size, keys.size(), [&](Index i) {
              const Value<U> key = keys[i];
              count[digit_of<U>(order, key, shift)] += 1;
            });
            for_(0, digits, [&](Index d) { counts[d * chunks + chunk] = count[d]; });
          });
        }));
  });
}

template <class U, class I>
using MoveKernel = void(View<const U>, View<U>, View<const I>, View<I>, View<const std::int64_t>, Value<U>,
                        Value<std::int64_t>, Value<std::int64_t>);

/// Moves keys, and with `indexed` the index of each.
template <class U, class I>
const Kernel<MoveKernel<U, I>>& move_kernel(const KeyOrder& order, bool indexed) {
  static auto& cache = *new KernelCache<MoveKernel<U, I>>;
  return cache.get(order.number() * 2 + indexed, [&] {
    return Kernel<MoveKernel<U, I>>(
        "sort_move",
        with_constants([=](View<const U> keys, View<U> sorted, View<const I> index, View<I> sorted_index,
                           View<const std::int64_t> places, Value<U> shift, Index size, Index chunks) {
          range_for(chunks, [&](Index chunk) {
            LocalArray<std::int64_t, digits> place;
            for_(0, digits, [&](Index d) { place[d] = places[d * chunks + chunk]; });
            for_chunk(chunk, size, keys.size(), [&](Index i) {
              const Value<U> key = keys[i];
              const Index digit = digit_of<U>(order, key, shift);
              const Index to = place[digit];
              sorted[to] = key;
              if (indexed) sorted_index[to] = index[i];
              place[digit] = to + 1;
            });
          });
        }));
  });
}

/// Sorts `keys`, and `index` with them unless it is null. The result is in `from`.
template <class U, class I>
void sort_words(const Steps& steps, const KeyOrder& order, Buffers& keys, Buffers* index) {
  const Chunks chunks = device_chunks(steps.device(), keys.from.size(), max_chunks);
  const AnyArrayView places = steps.scratch(element_type<std::int64_t>, digits * chunks.count);
  // Kernels without indices ignore these arguments.
  const AnyArrayView none = steps.scratch(element_type<I>, 1);
  const Buffers unused{none, none};
  const Buffers& moved = index ? *index : unused;
  fill_rest<U>(steps, order, keys.from);
  for (U shift = 0; shift < 8 * sizeof(U); shift = U(shift + 8)) {
    steps.launch(count_kernel<U>(order), keys.from, places, shift, chunks.size, chunks.count);
    submit_scan(steps, places, places, Combine::sum, false, no_elements(places));
    steps.launch(move_kernel<U, I>(order, index != nullptr), keys.from, keys.to, moved.from, moved.to, places,
                 shift, chunks.size, chunks.count);
    std::swap(keys.from, keys.to);
    if (index) std::swap(index->from, index->to);
  }
}

template <class I>
void sort_pairs(const Steps& steps, const KeyOrder& order, Buffers& keys, const AnyArrayView& values) {
  const auto count = static_cast<std::int64_t>(keys.from.size());
  const AnyArrayView indices[] = {steps.scratch(element_type<I>, count),
                                  steps.scratch(element_type<I>, count)};
  Buffers index{indices[0], indices[1]};
  steps.launch(count_up_kernel<I>(), index.from);
  for_word_type(keys.from, [&]<class U>(U) { sort_words<U, I>(steps, order, keys, &index); });
  const AnyArrayView moved = steps.scratch(values.element(), count);
  submit_gather(steps, values, index.from, moved, no_elements(index.from));
  steps.copy(values, moved);
}

void expect_order(std::string_view function, SortOrder order) {
  if (order > SortOrder::descending)
    throw Error(ErrorCode::invalid, fmt::format("{}: {} is not a value of SortOrder; pass one of its names",
                                                function, static_cast<int>(order)));
}

void submit_sort(const Steps& steps, const AnyArrayView& keys, const AnyArrayView* values, SortOrder order) {
  if (keys.size() < 2) return;
  const AnyArrayView words = as_words(keys);
  const KeyOrder by{keys.element().scalar, order == SortOrder::descending};
  if (uses_groups(steps.device())) return submit_group_sort(steps, by, words, values);
  const AnyArrayView other = steps.scratch(words.element(), static_cast<std::int64_t>(words.size()));
  Buffers buffers{words, other};
  if (!values)
    for_word_type(words, [&]<class U>(U) { sort_words<U, std::uint32_t>(steps, by, buffers, nullptr); });
  else if (keys.size() <= std::uint64_t{1} << 32)
    sort_pairs<std::uint32_t>(steps, by, buffers, *values);
  else
    sort_pairs<std::int64_t>(steps, by, buffers, *values);
  if (words.element().size() == 1) steps.copy(words, other);  // an odd number of passes
}

}  // namespace
}  // namespace weir::algorithms

namespace weir::detail {

void sort(const WorkTarget& target, const AnyArrayView& keys, SortOrder order) try {
  algorithms::expect_order("sort", order);
  algorithms::expect_usable("sort", target, {{"keys", keys}});
  algorithms::as_one_step(
      target, [&](const algorithms::Steps& steps) { algorithms::submit_sort(steps, keys, nullptr, order); });
} catch (...) {
  rethrow_as_error();
}

void sort_by_key(const WorkTarget& target, const AnyArrayView& keys, const AnyArrayView& values,
                 SortOrder order) try {
  algorithms::expect_order("sort_by_key", order);
  algorithms::expect_usable("sort_by_key", target, {{"keys", keys}, {"values", values}});
  algorithms::expect_equal_size("sort_by_key", {"values", values}, {"keys", keys});
  algorithms::expect_apart("sort_by_key", {"values", values}, {"keys", keys});
  algorithms::as_one_step(
      target, [&](const algorithms::Steps& steps) { algorithms::submit_sort(steps, keys, &values, order); });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
