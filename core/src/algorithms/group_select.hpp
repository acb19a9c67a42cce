// SPDX-License-Identifier: Apache-2.0
// Selection by groups: the flagged elements of each range are counted, then each range has its places.
#pragma once

#include "algorithms/groups.hpp"

namespace weir::algorithms {

/// Tiles of all kernels that count or place flagged elements have the size of this one.
using Ranks = Tile<std::uint32_t>;
inline constexpr std::int64_t ranks_size = tile_size<std::uint32_t>;

/// counts[g] becomes the number of elements i in range g for which flag(x, i) is true.
template <class T>
using CountFlagsKernel = void(View<const T>, View<std::int64_t>, Value<std::int64_t>);

template <class T, class Flag>
Kernel<CountFlagsKernel<T>> count_flags_kernel(const char* name, const Flag& flag) {
  return Kernel<CountFlagsKernel<T>>(
      name, with_constants([flag](View<const T> x, View<std::int64_t> counts, Index size) {
        const Index n = x.size();
        group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
          GroupScan<std::uint32_t> scan;
          Var<std::uint32_t> count = 0u;
          for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
            for (const Value<bool>& flagged :
                 loaded<std::uint32_t>(t, base, n, false, [&](const Index& i) { return flag(x, i); }))
              count += cast<std::uint32_t>(flagged);
          });
          const Value<std::uint32_t> total = scan.sum(t, count).total;
          if_(t == 0, [&] { counts[g] = cast<std::int64_t>(total); });
        });
      }));
}

/// The numbers that a group takes from the counts of all ranges. All threads call it together.
struct Counted {
  Value<std::int64_t> before;  ///< in lower ranges
  Value<std::int64_t> all;
};
inline Counted counted(const Index& g, const Index& t, const View<const std::int64_t>& counts,
                       const GroupScan<std::int64_t>& scan) {
  Var<std::int64_t> before = 0, all = 0;
  for_(t, counts.size(), group_size, [&](Index i) {
    const Value<std::int64_t> count = counts[i];
    before += select(i < g, count, Value<std::int64_t>(0));
    all += count;
  });
  const Value<std::int64_t> lower = scan.sum(t, before).total;
  return {lower, scan.sum(t, all).total};
}

/// Calls action(i, flagged, rank) for each element i of the tile that the thread loads; `rank` is the number
/// of flagged elements before it in the tile. Returns their number in the tile. All threads call it together.
/// No barrier is needed before the tile is used in this way again.
template <class Flag, class Action>
Value<std::uint32_t> for_ranks(const Index& t, const Index& base, const Index& n, const Ranks& tile,
                               const GroupScan<std::uint32_t>& scan, const Flag& flag, const Action& action) {
  const std::vector<Value<bool>> flags = loaded<std::uint32_t>(t, base, n, false, flag);
  for (std::size_t k = 0; k < flags.size(); ++k) tile.loaded(std::int64_t(k)) = cast<std::uint32_t>(flags[k]);
  barrier();
  std::vector<Value<std::uint32_t>> own;
  Var<std::uint32_t> sum = 0u;
  for (std::int64_t k = 0; k < per_thread<std::uint32_t>; ++k) {
    own.emplace_back(tile.own(k));
    sum += own.back();
  }
  const auto [before, total] = scan.sum(t, sum);
  sum = before;
  for (std::int64_t k = 0; k < per_thread<std::uint32_t>; ++k) {
    tile.own(k) = sum;
    sum += own[std::size_t(k)];
  }
  barrier();
  for_loaded<std::uint32_t>(t, base, n, [&](std::int64_t k, const Index& i) {
    action(i, flags[std::size_t(k)], Value<std::uint32_t>(tile.loaded(k)));
  });
  return total;
}

}  // namespace weir::algorithms
