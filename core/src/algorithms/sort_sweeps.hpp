// SPDX-License-Identifier: Apache-2.0
// Radix sort in which groups wait for the counts of earlier tiles; see group_sort.cpp.
#pragma once

#include <utility>

#include "algorithms/chunks.hpp"
#include "algorithms/sort_tiles.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {

/// Keys of a tile that each thread has.
template <class W>
constexpr std::int64_t swept_keys = sizeof(W) > 4 ? 16 : 32;

/// The published state of a tile for a digit: nothing, the number of its keys, or of those of all tiles up to
/// it. In the highest two bits of a state, above that number. A state begins with 0, and both are added to
/// it.
constexpr std::uint32_t number_bits = 30, published = 1u << number_bits, number_mask = published - 1;

constexpr std::int64_t states_at_once = 4;

/// counts[256 * pass + digit].
template <class U>
const Kernel<void(View<const U>, View<std::uint32_t>, Value<std::int64_t>)>& histogram_kernel(
    const KeyOrder& order) {
  using Signature = void(View<const U>, View<std::uint32_t>, Value<std::int64_t>);
  static auto& cache = *new KernelCache<Signature>;
  return cache.get(order.number(), [&] {
    return Kernel<Signature>(
        "sort_histogram", with_constants([order](View<const U> keys, View<std::uint32_t> counts, Index size) {
          const Index n = keys.size();
          group_for(groups((n + size - 1) / size), threads<group_size>, [&](Index g, Index t) {
            Shared<std::uint32_t, sizeof(U) * std::size_t(digits)> count;
            for (std::int64_t pass = 0; pass < std::int64_t(sizeof(U)); ++pass) count[pass * digits + t] = 0u;
            barrier();
            for_each_key<U>(g, t, size, keys, [&](const Value<U>& key) {
              for (std::int64_t pass = 0; pass < std::int64_t(sizeof(U)); ++pass)
                atomic_add(count[pass * digits + digit_of<U>(order, key, Value<U>(U(8 * pass)))], 1u);
            });
            barrier();
            for (std::int64_t pass = 0; pass < std::int64_t(sizeof(U)); ++pass) {
              const Value<std::uint32_t> own = count[pass * digits + t];
              atomic_add(counts[pass * digits + t], own);
            }
          });
        }));
  });
}

/// Replaces the counts of each pass by those of lower digits together.
inline const Kernel<void(View<std::uint32_t>)>& starts_kernel() {
  static const auto& kernel = *new Kernel("sort_starts", [](View<std::uint32_t> counts) {
    group_for(groups(counts.size() / digits), threads<group_size>, [&](Index pass, Index t) {
      GroupScan<std::uint32_t> scan;
      const Value<std::uint32_t> own = counts[pass * digits + t];
      counts[pass * digits + t] = scan.sum(t, own).before;
    });
  });
  return kernel;
}

template <class U, class P>
using SweepKernel = void(View<const U>, View<U>, View<const P>, View<P>, View<const std::uint32_t>,
                         View<std::uint32_t>, View<std::uint32_t>, Value<U>);

/// Moves keys, and if `paired` the payload of each. `tickets` has one number, of tiles that groups have
/// taken.
template <class U, class P, bool paired>
const Kernel<SweepKernel<U, P>>& sweep_kernel(const KeyOrder& order) {
  static auto& cache = *new KernelCache<SweepKernel<U, P>>;
  return cache.get(order.number(), [&] {
    return Kernel<SweepKernel<U, P>>(
        "sort_sweep",
        with_constants([=](View<const U> keys, View<U> sorted, View<const P> payload, View<P> moved,
                           View<const std::uint32_t> starts, View<std::uint32_t> tickets,
                           View<std::uint32_t> states, Value<U> shift) {
          group_for(groups(states.size() / digits), threads<group_size>, [&](Index, Index t) {
            TileMove<U, P, paired, swept_keys<TileWord<U, P>>, std::uint32_t> move(order, shift, t);
            // Groups take tiles in the order in which they begin, so that they wait only for groups that run.
            Shared<std::uint32_t, 1> taken;
            if_(t == 0, [&] { taken[0] = atomic_add(tickets[0], 1u); });
            barrier();
            const Index tile = cast<std::int64_t>(Value<std::uint32_t>(taken[0]));
            const Index state = tile * digits + t;
            const auto publish = [&](const Value<std::uint32_t>& number) {
              atomic_add(states[state], number + published);
            };
            const auto place_of = [&](const Value<std::uint32_t>&) {
              Var<std::uint32_t> before = 0u;
              Var<std::int64_t> from = state - digits;  // the next state to add
              while_([&] { return from >= 0; },
                     [&] {
                       // Several at a time, because each takes the way to the memory that all groups share.
                       std::vector<Value<std::uint32_t>> found;
                       for (std::int64_t k = 0; k < states_at_once; ++k)
                         found.push_back(atomic_or(states[max(from - k * digits, Index(t))], 0u));
                       Var<bool> goes_on = true;
                       for (const Value<std::uint32_t>& one : found) {
                         const Value<std::uint32_t> kind = one >> number_bits;
                         const Value<bool> counts = goes_on & (from >= 0) & (kind != 0u);
                         before += select(counts, one & number_mask, Value<std::uint32_t>(0u));
                         from = select(counts, select(kind == 1u, from - digits, Index(-1)), Index(from));
                         goes_on = counts & (kind == 1u);
                       }
                     });
              const Value<std::uint32_t> lower = before;
              publish(lower);
              return starts[t] + lower;
            };
            move({keys, sorted, payload, moved}, tile * move.tile_elements, publish, place_of);
          });
        }),
        // Without a bound, 32 keys take so many registers that one group fills a multiprocessor.
        KernelOptions{.min_resident_threads = 2 * group_size});
  });
}

/// The scratch memory of all passes.
template <class U, class W>
class Sweeps {
 public:
  Sweeps(const Steps& steps, std::uint64_t keys)
      : ranges_(group_ranges(steps.device(), keys, tile_size<std::uint32_t>)),
        states_((static_cast<std::int64_t>(keys) + tile - 1) / tile * digits),
        numbers_(steps.scratch(element_type<std::uint32_t>, passes * (2 * digits + states_))) {}

  /// As Ranges::sort.
  template <class P, bool paired>
  void sort(const Steps& steps, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    steps.fill_zero(numbers_);
    const AnyArrayView starts = part(0, 0, passes * digits);
    steps.launch(histogram_kernel<U>(order), keys.from, starts, ranges_.size);
    steps.launch(starts_kernel(), starts);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      steps.launch(sweep_kernel<U, P, paired>(order), keys.from, keys.to, payload.from, payload.to,
                   part(0, pass, digits), part(passes * digits, pass, digits),
                   part(2 * passes * digits, pass, states_), U(8 * pass));
      std::swap(keys.from, keys.to);
      if (paired) std::swap(payload.from, payload.to);
    }
  }

 private:
  static constexpr std::int64_t passes = sizeof(U), tile = swept_keys<W> * group_size;
  /// Of equal parts of `size` numbers from number `first` on, that of a pass.
  AnyArrayView part(std::int64_t first, std::int64_t pass, std::int64_t size) const {
    const std::int64_t extents[] = {size};
    const auto offset = static_cast<std::uint64_t>(first + pass * size) * sizeof(std::uint32_t);
    return numbers_.reinterpreted(offset, numbers_.element(), extents);
  }
  Chunks ranges_;         // of the histogram
  std::int64_t states_;   // of a pass
  AnyArrayView numbers_;  // the places of the digits of each pass, the numbers of taken tiles, and the states
};

}  // namespace weir::algorithms
