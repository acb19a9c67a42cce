// SPDX-License-Identifier: Apache-2.0
// Scans of integers by groups, in two forms:
//  - Sweep, on devices whose groups can wait for one another. A group takes the next tile, publishes its
//    combination, and looks for those of earlier tiles ("Single-pass Parallel Prefix Scan with Decoupled
//    Look-back", Merrill and Garland 2016, NVIDIA NVR-2016-002). Elements are read once.
//  - Ranges. One kernel combines the elements of each range, and a second one scans each range from the
//    combination of those before it. Elements are read twice.
#include <optional>

#include "algorithms/groups.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

template <class W>
auto combined_by(Combine combine) {
  return [combine](const Value<W>& a, const Value<W>& b) { return combined<W>(combine, a, b); };
}

/// A tile of which each thread has `each` elements, in fours. All threads of a group call its functions
/// together.
template <class T, class W>
class ScannedTile {
 public:
  /// Of the first `n` elements of `x`.
  ScannedTile(const View<const T>& x, const Index& n, const Index& thread, const Index& base,
              std::int64_t each, Combine combine)
      : own_(in_fours(thread, base, each)), n_(n), both_(combined_by<W>(combine)) {
    const W neutral = identity<T>(combine);
    const std::vector<Value<W>> values =
        loaded(own_, n_, neutral, [&](const Index& i) { return cast<W>(Value<T>(x[i])); });
    // Inclusive scans of each four, and exclusive ones of the fours of the sub-group.
    Var<W> of_row = neutral;
    for (std::int64_t k = 0; k < each; ++k) {
      const Value<W> own = values[std::size_t(k)];
      here_.push_back(k % four ? both_(here_.back(), own) : own);
      if (k % four != four - 1) continue;
      const Value<W> up_to_here = subgroup_scan<row>(here_.back(), both_), so_far = of_row;
      const Value<W> lower = shuffle_up<row>(up_to_here, 1);
      above_.push_back(both_(so_far, select(lane<row>() == 0, Value<W>(neutral), lower)));
      of_row = both_(so_far, shuffle<row>(up_to_here, int(row) - 1));
    }
    of_row_.emplace(Value<W>(of_row));
  }
  /// Of the elements of the thread's sub-group.
  const Value<W>& of_row() const { return *of_row_; }
  /// Writes the results from `first`, the combination of all elements before the sub-group.
  void write(const View<T>& result, const Value<W>& first, bool inclusive) const {
    std::vector<Value<W>> scanned;
    for (std::int64_t k = 0; k < own_.each; ++k) {
      const Value<W> lower = both_(first, above_[std::size_t(k / four)]);
      scanned.push_back(inclusive       ? both_(lower, here_[std::size_t(k)])
                        : k % four == 0 ? lower
                                        : both_(lower, here_[std::size_t(k - 1)]));
    }
    for_each_of(own_, n_,
                [&](std::int64_t k, const Index& i) { result[i] = cast<T>(scanned[std::size_t(k)]); });
  }

 private:
  Elements own_;
  Index n_;
  decltype(combined_by<W>(Combine())) both_;
  std::vector<Value<W>> here_, above_;
  std::optional<Value<W>> of_row_;
};

template <class T, class W = Word<T>>
using RangeKernel = void(View<const T>, View<W>, Value<std::int64_t>, Size);

template <class T, class W = Word<T>>
const Kernel<RangeKernel<T>>& range_kernel(Combine combine) {
  static auto& cache = *new KernelCache<RangeKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<RangeKernel<T>>(
        "scan_ranges", with_constants([combine](View<const T> x, View<W> sums, Index size, Size used) {
          group_for(groups(sums.size()), threads<group_size>, [&](Index g, Index t) {
            GroupScan<W> scan;
            const Index n = elements_of(x.size(), used);
            const W neutral = identity<T>(combine);
            const auto element = [&](const Index& i) { return cast<W>(Value<T>(x[i])); };
            const auto both = combined_by<W>(combine);
            Var<W> sum = neutral;
            for_tiles<W>(g, size, n, [&](Index base) {
              for (const Value<W>& next : loaded(strided(t, base, per_thread<W>), n, neutral, element))
                sum = both(sum, next);
            });
            const Value<W> total = scan(t, sum, neutral, both).total;
            if_(t == 0, [&] { sums[g] = total; });
          });
        }));
  });
}

template <class T, class W = Word<T>>
using GroupScanKernel = void(View<const T>, View<const W>, View<T>, Value<std::int64_t>, Size);

template <class T, class W = Word<T>>
const Kernel<GroupScanKernel<T>>& scan_of_ranges_kernel(Combine combine, bool inclusive) {
  static auto& cache = *new KernelCache<GroupScanKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine) * 2 + inclusive, [&] {
    return Kernel<GroupScanKernel<T>>(
        inclusive ? "inclusive_scan" : "exclusive_scan",
        with_constants([=](View<const T> x, View<const W> sums, View<T> result, Index size, Size used) {
          group_for(groups(sums.size()), threads<group_size>, [&](Index g, Index t) {
            GroupScan<W> scan;
            const Index n = elements_of(x.size(), used);
            const W neutral = identity<T>(combine);
            const auto both = combined_by<W>(combine);
            Var<W> sum = neutral;
            for_(t, g, group_size, [&](Index i) {
              const Value<W> next = sums[i];
              sum = both(sum, next);
            });
            Var<W> start = scan(t, sum, neutral, both).total;
            // With more elements per thread, fewer threads fit into a GPU's registers than hide the loads.
            constexpr std::int64_t each = 8, tile = each * group_size;
            for_tiles_of(tile, g, size, n, [&](Index base) {
              const ScannedTile<T, W> scanned(x, n, t, base, each, combine);
              const auto [before, total] = scan.of_rows(t, scanned.of_row(), neutral, both, base / tile % 2);
              const Value<W> first = both(start, before);
              start = both(start, total);
              scanned.write(result, first, inclusive);
            });
          });
        }));
  });
}

template <class T>
void scan_by_ranges(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                    bool inclusive, const AnyArrayView& used) {
  const Chunks ranges = group_ranges(steps.device(), x.size(), tile_size<Word<T>>);
  const AnyArrayView sums = steps.scratch(element_type<Word<T>>, ranges.count);
  if (ranges.count > 1) steps.launch(range_kernel<T>(combine), x, sums, ranges.size, used);
  steps.launch(scan_of_ranges_kernel<T>(combine, inclusive), x, sums, result, ranges.size, used);
}

/// Elements of a swept tile for each thread, and threads that look at an earlier tile each. For 256 Mi u32 on
/// an H200, with two groups of 256 threads in a multiprocessor: 654 us; with half as many threads 787, with
/// twice as many 741; with 24 elements, three groups and 64 threads 784, with 16 elements 789
/// (performance.md).
constexpr std::int64_t swept = 32, swept_tile = swept * group_size;
constexpr std::uint32_t looking = 64;

/// The published state of a tile: 0, the combination of its elements, or of those of all tiles up to it. The
/// combination is in the lower 32 bits, the kind in the upper ones.
constexpr std::uint32_t of_tile = 1, of_all = 2;
template <class W>
Value<std::uint64_t> state_of(std::uint32_t kind, const Value<W>& combination) {
  return cast<std::uint64_t>(cast<std::uint32_t>(combination)) + (std::uint64_t{kind} << 32);
}

template <class T>
using SweepKernel = void(View<const T>, View<T>, View<std::uint64_t>, Size);

/// `numbers` are zero at first: the number of taken tiles, then the state of each tile.
template <class T, class W = Word<T>>
const Kernel<SweepKernel<T>>& sweep_kernel(Combine combine, bool inclusive) {
  static auto& cache = *new KernelCache<SweepKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine) * 2 + inclusive, [&] {
    return Kernel<SweepKernel<T>>(
        inclusive ? "inclusive_scan" : "exclusive_scan",
        with_constants([=](View<const T> x, View<T> result, View<std::uint64_t> numbers, Size used) {
          group_for(groups(numbers.size() - 1), threads<group_size>, [&](Index, Index t) {
            GroupScan<W> scan;
            const W neutral = identity<T>(combine);
            const auto both = combined_by<W>(combine);
            // Groups take tiles in the order in which they begin, so that they wait only for groups that run.
            Shared<std::int64_t, 1> taken;
            Shared<std::uint32_t, 1> nearest;  // the thread that found the combination of all tiles up to one
            if_(t == 0, [&] {
              taken[0] = cast<std::int64_t>(atomic_add(numbers[0], std::uint64_t{1}));
              nearest[0] = looking;
            });
            barrier();
            const Index tile = taken[0], state = tile + 1;
            const Index n = elements_of(x.size(), used);
            const ScannedTile<T, W> scanned(x, n, t, tile * swept_tile, swept, combine);
            const auto [before, total] = scan.of_rows(t, scanned.of_row(), neutral, both);
            const Value<std::uint64_t> published = state_of<W>(of_tile, total);
            if_(t == 0, [&] { atomic_or(numbers[state], published); });

            // Thread t looks at the t-th tile before this one, until it has its state or a nearer thread has
            // the combination of all tiles before. That of the farthest tile is not enough by itself.
            Var<W> found = neutral;
            if_(t < looking, [&] {
              const Index from = tile - t;
              const Value<std::uint32_t> own = cast<std::uint32_t>(t);
              Var<bool> looks = true;
              while_([&] { return Value<bool>(looks); },
                     [&] {
                       const Value<std::uint64_t> seen =
                           atomic_or(numbers[max(from, Index(1))], std::uint64_t{0});
                       const Value<std::uint32_t> kind =
                           select(from > 0, cast<std::uint32_t>(seen >> std::uint64_t{32}),
                                  Value<std::uint32_t>(of_all));
                       found = select(from > 0, cast<W>(cast<std::uint32_t>(seen)), Value<W>(neutral));
                       const Value<std::uint32_t> before_own =
                           atomic_min(nearest[0], select(kind == of_all, own, Value<std::uint32_t>(looking)));
                       const Value<bool> knows = (kind == of_all) | ((kind == of_tile) & (own < looking - 1));
                       looks = !knows & (own < before_own);
                     });
            });
            barrier();
            const Value<bool> counts = cast<std::uint32_t>(t) <= Value<std::uint32_t>(nearest[0]);
            const Value<W> part = select(counts, Value<W>(found), Value<W>(neutral));
            const Value<W> earlier =
                scan.of_rows(t, subgroup_reduce<row>(part, both), neutral, both, 1).total;
            if_(t == 0,
                [&] { atomic_add(numbers[state], state_of<W>(of_all, both(earlier, total)) - published); });
            scanned.write(result, both(earlier, before), inclusive);
          });
        }),
        KernelOptions{.min_resident_threads = 2 * group_size});
  });
}

template <class T>
void scan_by_sweep(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                   bool inclusive, const AnyArrayView& used) {
  const auto tiles = static_cast<std::int64_t>((x.size() + swept_tile - 1) / swept_tile);
  const AnyArrayView numbers = steps.scratch(element_type<std::uint64_t>, tiles + 1);
  steps.fill_zero(numbers);
  steps.launch(sweep_kernel<T>(combine, inclusive), x, result, numbers, used);
}

}  // namespace

void submit_group_scan(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                       bool inclusive, const AnyArrayView& used) {
  const bool sweeps = x.size() > swept_tile && groups_may_wait(steps.device());
  for_number_type(x.element().scalar, [&]<class T>(T) {
    if constexpr (std::integral<T> && sizeof(T) <= 4)
      if (sweeps) return scan_by_sweep<T>(steps, x, result, combine, inclusive, used);
    if constexpr (std::integral<T>) scan_by_ranges<T>(steps, x, result, combine, inclusive, used);
  });
}

}  // namespace weir::algorithms
