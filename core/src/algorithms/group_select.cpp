// SPDX-License-Identifier: Apache-2.0
// compact, partition and unique by groups. Adjacent threads write kept elements to adjacent places.
#include "algorithms/group_select.hpp"

#include "algorithms/select.hpp"

namespace weir::algorithms {
namespace {

template <class T, class U>
using PlaceKernel = void(View<const T>, View<const U>, View<const std::int64_t>, View<U>, View<std::int64_t>,
                         Value<std::int64_t>);

/// Moves the elements of `x`, of `words` words each, whose flag(chosen, i) is true.
template <class T, class U, class Flag>
Kernel<PlaceKernel<T, U>> place_kernel(const char* name, std::int64_t words, bool with_rest,
                                       const Flag& flag) {
  return Kernel<PlaceKernel<T, U>>(
      name, with_constants([=](View<const T> chosen, View<const U> x, View<const std::int64_t> counts,
                               View<U> result, View<std::int64_t> count, Index size) {
        const Index n = chosen.size();
        group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
          Ranks tile(t);
          GroupScan<std::uint32_t> scan;
          GroupScan<std::int64_t> wide_scan;
          const auto [before, all] = counted(g, t, counts, wide_scan);
          Var<std::int64_t> start = before;
          const auto move = [&](const Index& i, const Index& to) {
            for_(0, words, [&](Index c) { result[to * words + c] = x[i * words + c]; });
          };
          for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
            const Index first = start;
            const Value<std::uint32_t> kept = for_ranks(
                t, base, n, tile, scan, [&](const Index& i) { return flag(chosen, i); },
                [&](const Index& i, const Value<bool>& keeps, const Value<std::uint32_t>& rank) {
                  const Index to = first + cast<std::int64_t>(rank);
                  if (with_rest)
                    move(i, select(keeps, to, all + (i - to)));
                  else
                    if_(keeps, [&] { move(i, to); });
                });
            start = first + cast<std::int64_t>(kept);
          });
          if_((t == 0) & (g == 0), [&] { count[0] = all; });
        });
      }));
}

struct IsTrue {
  Value<bool> operator()(const View<const bool>& keep, const Index& i) const { return keep[i]; }
};
struct IsHead {
  template <class T>
  Value<bool> operator()(const View<const T>& x, const Index& i) const {
    const Value here = x[i], before = x[max(i, 1) - 1];
    return (i == 0) | (here != before);
  }
};

/// `x` are words U, `words` for each element of `chosen`.
template <class T, class U, class Flag>
void select_by_groups(const StreamRef& stream, const AnyArrayView& chosen, const AnyArrayView& x,
                      const AnyArrayView& result, const AnyArrayView& count, const AnyArrayView& counts,
                      std::int64_t range, bool with_rest, const char* count_name, const char* name) {
  static auto& count_kernel = *new Kernel<CountFlagsKernel<T>>(count_flags_kernel<T>(count_name, Flag()));
  count_kernel(stream, chosen, counts, range);
  const auto words = static_cast<std::int64_t>(x.size() / chosen.size());
  static auto& cache = *new KernelCache<PlaceKernel<T, U>>;
  const auto& kernel = cache.get(static_cast<std::uint32_t>(words) * 2 + with_rest,
                                 [&] { return place_kernel<T, U>(name, words, with_rest, Flag()); });
  kernel(stream, chosen, x, counts, result, count, range);
}

}  // namespace

Chunks selection_ranges(const StreamRef& stream, const AnyArrayView& x) {
  return group_ranges(stream.device(), x.size(), ranks_size);
}

void submit_group_select(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& keep,
                         const AnyArrayView& result, const AnyArrayView& count, const AnyArrayView& counts,
                         const Chunks& ranges, bool with_rest) {
  const AnyArrayView from = as_words(x), to = as_words(result);
  for_word_type(from, [&]<class U>(U) {
    select_by_groups<bool, U, IsTrue>(stream, keep, from, to, count, counts, ranges.size, with_rest,
                                      "select_count", with_rest ? "partition" : "compact");
  });
}

void submit_group_select(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& keep,
                         const AnyArrayView& result, const AnyArrayView& count, bool with_rest) {
  const Chunks ranges = selection_ranges(stream, x);
  const AnyArray counts = scratch(stream, element_type<std::int64_t>, ranges.count);
  submit_group_select(stream, x, keep, result, count, counts, ranges, with_rest);
}

void submit_group_unique(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result,
                         const AnyArrayView& count) {
  const Chunks ranges = selection_ranges(stream, x);
  const AnyArray counts = scratch(stream, element_type<std::int64_t>, ranges.count);
  const AnyArrayView from = as_words(x), to = as_words(result);
  for_element_type(x.element().scalar, [&]<class T>(T) {
    for_word_type(from, [&]<class U>(U) {
      if constexpr (sizeof(U) == sizeof(T))
        select_by_groups<T, U, IsHead>(stream, x, from, to, count, counts, ranges.size, false, "unique_count",
                                       "unique");
    });
  });
}

}  // namespace weir::algorithms
