// SPDX-License-Identifier: Apache-2.0
// Stable radix sort, from the least significant byte on. The form for CPUs: counts by digit and chunk, their
// scan in the order of digits, and a move of each chunk's elements to their places. group_sort.cpp has the
// form for groups.
#include "algorithms/sort.hpp"

#include <utility>

#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

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
void sort_words(const StreamRef& stream, const KeyOrder& order, Buffers& keys, Buffers* index) {
  const Chunks chunks = device_chunks(stream.device(), keys.from.size(), max_chunks);
  const AnyArray places = scratch(stream, element_type<std::int64_t>, digits * chunks.count);
  // Kernels without indices ignore these arguments.
  const AnyArray none = scratch(stream, element_type<I>, 1);
  const Buffers unused{none, none};
  const Buffers& moved = index ? *index : unused;
  for (U shift = 0; shift < 8 * sizeof(U); shift = U(shift + 8)) {
    count_kernel<U>(order)(stream, keys.from, places, shift, chunks.size, chunks.count);
    submit_scan(stream, places, places, Combine::sum, false);
    move_kernel<U, I>(order, index != nullptr)(stream, keys.from, keys.to, moved.from, moved.to, places,
                                               shift, chunks.size, chunks.count);
    std::swap(keys.from, keys.to);
    if (index) std::swap(index->from, index->to);
  }
}

template <class I>
void sort_pairs(const StreamRef& stream, const KeyOrder& order, Buffers& keys, const AnyArrayView& values) {
  const auto count = static_cast<std::int64_t>(keys.from.size());
  const AnyArray indices[] = {scratch(stream, element_type<I>, count),
                              scratch(stream, element_type<I>, count)};
  Buffers index{indices[0], indices[1]};
  count_up_kernel<I>()(stream, index.from);
  for_word_type(keys.from, [&]<class U>(U) { sort_words<U, I>(stream, order, keys, &index); });
  const AnyArray moved = scratch(stream, values.element(), count);
  submit_gather(stream, values, index.from, moved);
  values.copy_from_array(stream, moved);
}

void submit_sort(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView* values,
                 SortOrder order) {
  if (keys.size() < 2) return;
  const AnyArrayView words = as_words(keys);
  const KeyOrder by{keys.element().scalar, order == SortOrder::descending};
  if (uses_groups(stream.device())) return submit_group_sort(stream, by, words, values);
  const AnyArray other = scratch(stream, words.element(), static_cast<std::int64_t>(words.size()));
  Buffers buffers{words, other};
  if (!values)
    for_word_type(words, [&]<class U>(U) { sort_words<U, std::uint32_t>(stream, by, buffers, nullptr); });
  else if (keys.size() <= std::uint64_t{1} << 32)
    sort_pairs<std::uint32_t>(stream, by, buffers, *values);
  else
    sort_pairs<std::int64_t>(stream, by, buffers, *values);
  if (words.element().size() == 1) words.copy_from_array(stream, other);  // an odd number of passes
}

}  // namespace
}  // namespace weir::algorithms

namespace weir::detail {

void sort(const StreamRef& stream, const AnyArrayView& keys, SortOrder order) try {
  algorithms::expect_usable("sort", stream, {{"keys", keys}});
  const SubmissionSequence one_step(live(stream));
  algorithms::submit_sort(stream, keys, nullptr, order);
} catch (...) {
  rethrow_as_error();
}

void sort_by_key(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                 SortOrder order) try {
  algorithms::expect_usable("sort_by_key", stream, {{"keys", keys}, {"values", values}});
  algorithms::expect_equal_size("sort_by_key", {"values", values}, {"keys", keys});
  algorithms::expect_apart("sort_by_key", {"values", values}, {"keys", keys});
  const SubmissionSequence one_step(live(stream));
  algorithms::submit_sort(stream, keys, &values, order);
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
