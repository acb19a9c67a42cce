// SPDX-License-Identifier: Apache-2.0
// Radix sort in which each group counts and moves a range of tiles; see group_sort.cpp.
#pragma once

#include <utility>
#include <vector>

#include "algorithms/chunks.hpp"
#include "algorithms/sort_tiles.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {

template <class U>
using CountKernel = void(View<const U>, View<std::int64_t>, Value<U>, Value<std::int64_t>);

/// counts[digit * ranges + range].
template <class U>
const Kernel<CountKernel<U>>& count_kernel(const KeyOrder& order) {
  static auto& cache = *new KernelCache<CountKernel<U>>;
  return cache.get(order.number(), [&] {
    return Kernel<CountKernel<U>>(
        "sort_count",
        with_constants([order](View<const U> keys, View<std::int64_t> counts, Value<U> shift, Index size) {
          const Index ranges = counts.size() / digits;
          group_for(groups(ranges), threads<group_size>, [&](Index g, Index t) {
            Shared<std::uint32_t, std::size_t(digits)> count;
            count[t] = 0u;
            barrier();
            for_each_key<U>(g, t, size, keys, [&](const Value<U>& key) {
              atomic_add(count[digit_of<U>(order, key, shift)], 1u);
            });
            barrier();
            counts[t * ranges + g] = cast<std::int64_t>(Value<std::uint32_t>(count[t]));
          });
        }));
  });
}

/// Replaces the counts of each digit by those of lower ranges together, and adds up all in `totals`.
inline const Kernel<void(View<std::int64_t>, View<std::int64_t>)>& rows_kernel() {
  static const auto& kernel =
      *new Kernel("sort_rows", [](View<std::int64_t> counts, View<std::int64_t> totals) {
        const Index ranges = counts.size() / digits;
        group_for(groups(digits), threads<group_size>, [&](Index digit, Index t) {
          GroupScan<std::int64_t> scan;
          constexpr std::int64_t each = std::int64_t(max_ranges) / group_size;
          std::vector<Value<std::int64_t>> own;
          Var<std::int64_t> sum = 0;
          for (std::int64_t k = 0; k < each; ++k) {
            const Index range = t * each + k;
            const Value<std::int64_t> count = counts[digit * ranges + min(range, ranges - 1)];
            own.push_back(select(range < ranges, count, Value<std::int64_t>(0)));
            sum += own.back();
          }
          const auto [before, total] = scan.sum(t, sum);
          sum = before;
          for (std::int64_t k = 0; k < each; ++k) {
            const Index range = t * each + k;
            if_(range < ranges, [&] { counts[digit * ranges + range] = sum; });
            sum += own[std::size_t(k)];
          }
          if_(t == 0, [&] { totals[digit] = total; });
        });
      });
  return kernel;
}

/// Keys of a tile that each thread has. Tiles take shared memory that all GPUs have.
template <class U, class P, bool paired>
constexpr std::int64_t keys_per_thread = paired ? per_thread<TileWord<U, P>> : 8;

template <class U, class P>
using MoveKernel = void(View<const U>, View<U>, View<const P>, View<P>, View<const std::int64_t>,
                        View<const std::int64_t>, Value<U>, Value<std::int64_t>);

/// Moves keys, and if `paired` the payload of each.
template <class U, class P, bool paired>
const Kernel<MoveKernel<U, P>>& move_kernel(const KeyOrder& order) {
  static auto& cache = *new KernelCache<MoveKernel<U, P>>;
  return cache.get(order.number(), [&] {
    return Kernel<MoveKernel<U, P>>(
        "sort_move",
        with_constants([=](View<const U> keys, View<U> sorted, View<const P> payload, View<P> moved,
                           View<const std::int64_t> places,  // not of range 0
                           View<const std::int64_t> totals, Value<U> shift, Index size) {
          const Index n = keys.size(), ranges = places.size() / digits;
          group_for(groups(ranges), threads<group_size>, [&](Index g, Index t) {
            TileMove<U, P, paired, keys_per_thread<U, P, paired>, std::int64_t> move(order, shift, t);
            Var<std::int64_t> place = 0;  // of the next key with the digit t
            {
              GroupScan<std::int64_t> scan;
              const Value<std::int64_t> total = totals[t];
              place = scan.sum(t, total).before;
              if_(g > 0, [&] { place += places[t * ranges + g]; });
            }
            for_tiles_of(move.tile_elements, g, size, n, [&](Index base) {
              const auto place_of = [&](const Value<std::uint32_t>& count) {
                const Index before = place;
                place = before + cast<std::int64_t>(count);
                return before;
              };
              move(
                  {keys, sorted, payload, moved}, base, [](const Value<std::uint32_t>&) {}, place_of);
            });
          });
        }));
  });
}

/// The scratch memory of all passes.
template <class U>
class Ranges {
 public:
  Ranges(const Steps& steps, std::uint64_t keys)
      : ranges_(group_ranges(steps.device(), keys, tile_size<std::uint32_t>)),
        memory_(steps, {{element_type<std::int64_t>, digits * ranges_.count},
                        {element_type<std::int64_t>, digits}}) {}

  /// A pass for each byte. Each key has a word of `payload`, or none has. The results are in `from`.
  template <class P, bool paired>
  void sort(const Steps& steps, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    const AnyArrayView counts = memory_[0], totals = memory_[1];
    const bool one_range = ranges_.count == 1;
    for (U shift = 0; shift < 8 * sizeof(U); shift = U(shift + 8)) {
      steps.launch(count_kernel<U>(order), keys.from, counts, shift, ranges_.size);
      if (!one_range) steps.launch(rows_kernel(), counts, totals);
      steps.launch(move_kernel<U, P, paired>(order), keys.from, keys.to, payload.from, payload.to, counts,
                   one_range ? counts : totals, shift, ranges_.size);
      std::swap(keys.from, keys.to);
      if (paired) std::swap(payload.from, payload.to);
    }
  }

 private:
  Chunks ranges_;  // of whole tiles, whichever word these have
  Workspace memory_;
};

}  // namespace weir::algorithms
