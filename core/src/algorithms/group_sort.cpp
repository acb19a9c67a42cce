// SPDX-License-Identifier: Apache-2.0
// Stable radix sort by groups: a pass for each byte of the keys, from the least significant on. A group moves
// a tile of keys in each step. It sorts the tile by the digit in shared memory, and writes each run of equal
// digits to adjacent places. A digit's first place comes from the number of lower digits, and of equal ones
// in earlier tiles. There are two ways to count the latter:
//  - Sweeps, on devices whose groups can wait for one another. One kernel counts the digits of all passes. A
//    group takes the next tile, publishes how many of each digit it has, and adds up what earlier tiles have
//    published ("Onesweep", Adinets and Merrill 2022, arXiv:2206.01784). A pass reads and writes the keys
//    once.
//  - Ranges. Each group counts the digits of a range of tiles, one group for each digit scans its counts over
//    the ranges, and each group then moves the tiles of its range. A pass reads the keys twice.
//
// A digit has 8 bits. Wider ones mean fewer passes, but shorter runs: in a tile of 8,192 keys a run has 32 on
// average, which is a line of a GPU's cache. To sort a tile, each sub-group takes 32 consecutive keys at a
// time. Eight ballots tell each thread which of them have its digit, and a counter of the sub-group how many
// it had before.
#include <algorithm>
#include <optional>

#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/sort.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

/// Calls body(key) for each key in the group's range of `size` keys, as for_tiles().
template <class U, class Body>
void for_each_key(const Index& group, const Index& thread, const Index& size, const View<const U>& keys,
                  const Body& body) {
  const Index n = keys.size();
  for_tiles<std::uint32_t>(group, size, n, [&](Index base) {
    const Elements of_tile = strided(thread, base, per_thread<std::uint32_t>);
    const std::vector<Value<U>> key = loaded(of_tile, n, U(0), [&](const Index& i) { return keys[i]; });
    for_each_of(of_tile, n, [&](std::int64_t k, const Index&) { body(key[std::size_t(k)]); });
  });
}

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
const Kernel<void(View<std::int64_t>, View<std::int64_t>)>& rows_kernel() {
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

/// The places of a tile's keys in the order of their digits, as in_rows() counts keys. Declare it directly
/// in the body of a group loop. All threads must call it together.
class TilePlaces {
 public:
  explicit TilePlaces(const Index& thread) : thread_(thread), counters_(thread / row * digits) {}

  /// Ranks the keys of each sub-group; equal digits keep their order. Returns how many keys of the tile have
  /// the thread's number as their digit. Overwrites `masks`, shared words that are free until then.
  template <class W, std::size_t Words>
  Value<std::uint32_t> count(const std::vector<Value<std::uint32_t>>& digit, const Shared<W, Words>& masks) {
    constexpr std::int64_t sets = std::min<std::int64_t>(std::int64_t(Words) / counters, min_sets);
    for (std::int64_t k = 0; k < counters; k += group_size) {
      counts_[k + thread_] = 0u;
      for (std::int64_t set = 0; sets == min_sets && set < sets; ++set)
        masks[set * counters + k + thread_] = W(0);
    }
    barrier();
    const Value<std::uint32_t> own = Value<std::uint32_t>(1u) << cast<std::uint32_t>(lane<row>());
    std::optional<Index> last;  // the mask of the last key, in the first of the threads that wrote to it
    std::optional<Value<bool>> clears;
    for (std::size_t k = 0; k < digit.size(); ++k) {
      const Value<std::uint32_t>& of = digit[k];
      const Index counter = counters_ + cast<std::int64_t>(of);
      std::optional<Value<std::uint32_t>> equal;  // the threads of the sub-group with the same digit
      if constexpr (sets == min_sets) {
        const Index mask = std::int64_t(k) % sets * counters + counter;
        atomic_or(masks[mask], cast<W>(own));
        barrier();
        equal.emplace(cast<std::uint32_t>(Value<W>(masks[mask])));
        // All threads have read the last key's mask, and write to it again after the next barrier.
        if (last) if_(*clears, [&] { masks[*last] = W(0); });
        last.emplace(mask);
      } else {
        equal.emplace(equal_by_ballots(of));
      }
      const Value<std::uint32_t> lower = popcount(*equal & (own - 1u));
      clears.emplace(lower == 0u);
      Var<std::uint32_t> earlier = 0u;
      if_(*clears, [&] {
        const Value<std::uint32_t> so_far = counts_[counter];
        earlier = so_far;
        counts_[counter] = so_far + popcount(*equal);
      });
      const Value<std::int32_t> first = cast<std::int32_t>(ctz(*equal));
      // The thread `first` has the same digit. Exchanged together, both stay in one register.
      ranked_.push_back(shuffle<row>(Value<std::uint32_t>(earlier) | (of << rank_bits), first) + lower);
      if (sets < min_sets || k + 1 == digit.size()) barrier();
    }
    Var<std::uint32_t> sum = 0u;
    for (std::int64_t r = 0; r < rows; ++r) sum += counts_[r * digits + thread_];
    return sum;
  }
  /// Where the run of that digit begins, given what count() returned. A barrier is owed before place().
  Value<std::uint32_t> begin(const Value<std::uint32_t>& count) const {
    const Value<std::uint32_t> begin = scan_.sum(thread_, count).before;
    Var<std::uint32_t> next = begin;
    for (std::int64_t r = 0; r < rows; ++r) {
      const Value<std::uint32_t> own = counts_[r * digits + thread_], first = next;
      counts_[r * digits + thread_] = first;
      next = first + own;
    }
    return begin;
  }
  /// The place of key k. After begin() and a barrier.
  Value<std::uint32_t> place(std::size_t k) const {
    const Value<std::uint32_t> first = counts_[counters_ + cast<std::int64_t>(ranked_[k] >> rank_bits)];
    return first + (ranked_[k] & ((1u << rank_bits) - 1u));
  }

 private:
  static Value<std::uint32_t> equal_by_ballots(const Value<std::uint32_t>& digit) {
    Var<std::uint32_t> equal = ~0u;
    for_(0, digit_bits, [&](Index bit) {
      const Value<bool> set = (digit & (Value<std::uint32_t>(1u) << cast<std::uint32_t>(bit))) != 0u;
      equal &= ballot<row>(set) ^ select(set, Value<std::uint32_t>(0u), Value<std::uint32_t>(~0u));
    });
    return equal;
  }

  static constexpr std::uint32_t rank_bits = 16;
  static constexpr std::int64_t counters = rows * digits, min_sets = 3;  // of masks
  Shared<std::uint32_t, std::size_t(counters)> counts_;                  // of the keys of each sub-group
  GroupScan<std::uint32_t> scan_;
  Index thread_, counters_;
  std::vector<Value<std::uint32_t>>
      ranked_;  // the digit and, below it, the rank among the equal ones of the sub-group
};

template <class U, class P>
using TileWord = std::conditional_t<(sizeof(U) > 4 || sizeof(P) > 4), std::uint64_t, std::uint32_t>;

/// The arrays of a pass. `payload` has a word for each key, or is ignored.
template <class U, class P>
struct Moved {
  const View<const U>& keys;
  const View<U>& sorted;
  const View<const P>& payload;
  const View<P>& moved;
};

/// Moves tiles of `Each` keys for each thread. Places are numbers of type I. Declare it directly in the body
/// of a group loop.
template <class U, class P, bool paired, std::int64_t Each, class I>
class TileMove {
 public:
  static constexpr std::int64_t tile_elements = Each * group_size;

  TileMove(const KeyOrder& order, const Value<U>& shift, const Index& thread)
      : order_(order), shift_(shift), thread_(thread), places_(thread) {}

  /// Of the `count` keys of the tile whose digit is the thread's number, `place_of(count)` returns the place
  /// of the first. It is called once in each thread, as late as possible after `counted(count)`.
  template <class Counted, class PlaceOf>
  void operator()(const Moved<U, P>& arrays, const Index& base, const Counted& counted,
                  const PlaceOf& place_of) {
    const Index n = arrays.keys.size(), used = min(n - base, tile_elements);
    const Elements own = in_rows(thread_, base, Each);
    const std::vector<Value<U>> key = loaded(own, n, U(0), [&](const Index& i) { return arrays.keys[i]; });
    // In 32 bits and without the elements' indices, which would take two registers for each key.
    const auto of_tile = cast<std::uint32_t>(own.first - base), end = cast<std::uint32_t>(used);
    std::vector<Value<std::uint32_t>> digits_of_keys;
    for (std::int64_t k = 0; k < Each; ++k)
      // Keys past the end become the last ones of the last digit.
      digits_of_keys.push_back(select(of_tile + std::uint32_t(own.place(k)) < end,
                                      digit_of_key(key[std::size_t(k)]),
                                      Value<std::uint32_t>(std::uint32_t(digits - 1))));
    const Value<std::uint32_t> count = places_.count(digits_of_keys, tile_);
    counted(count);
    const Value<std::uint32_t> begin = places_.begin(count);
    barrier();
    std::vector<Value<std::uint32_t>> to;
    for (std::int64_t k = 0; k < Each; ++k) {
      to.push_back(places_.place(std::size_t(k)));
      tile_[cast<std::int64_t>(to.back())] = cast<W>(key[std::size_t(k)]);
    }
    const Value<I> place = place_of(count);
    first_[thread_] = place - cast<I>(begin);
    barrier();
    if (!paired) {
      // A loop of the kernel: code for all elements at once would take all registers.
      constexpr std::int64_t at_once = 8;
      static_assert(Each % at_once == 0);
      for_(0, Each, at_once, [&](Index first) {
        for (std::int64_t k = 0; k < at_once; ++k) write(arrays.sorted, used, first + k, digit_at(first + k));
      });
      return;
    }
    const std::vector<Value<P>> values =
        loaded(own, n, P(0), [&](const Index& i) { return arrays.payload[i]; });
    std::vector<Value<std::uint32_t>> moved_digit;
    for (std::int64_t k = 0; k < Each; ++k) {
      moved_digit.push_back(digit_at(k));
      write(arrays.sorted, used, k, moved_digit.back());
    }
    barrier();
    for (std::int64_t k = 0; k < Each; ++k)
      tile_[cast<std::int64_t>(to[std::size_t(k)])] = cast<W>(values[std::size_t(k)]);
    barrier();
    for (std::int64_t k = 0; k < Each; ++k) write(arrays.moved, used, k, moved_digit[std::size_t(k)]);
  }

 private:
  using W = TileWord<U, P>;
  Value<std::uint32_t> digit_of_key(const Value<U>& key) const {
    return cast<std::uint32_t>(digit_of<U>(order_, key, shift_));
  }
  /// The word k * group_size + thread of the sorted tile.
  Value<W> word(const Index& k) const { return tile_[thread_ + k * group_size]; }
  Value<std::uint32_t> digit_at(const Index& k) const { return digit_of_key(cast<U>(word(k))); }
  template <class T>
  void write(const View<T>& result, const Index& used, const Index& k,
             const Value<std::uint32_t>& digit) const {
    const Index i = thread_ + k * group_size;
    const Value<I> to = first_[cast<std::int64_t>(digit)] + cast<I>(i);
    if_(i < used, [&] { result[cast<std::int64_t>(to)] = cast<T>(word(k)); });
  }

  KeyOrder order_;
  const Value<U>& shift_;
  const Index& thread_;
  Shared<W, std::size_t(tile_elements)> tile_;
  TilePlaces places_;
  Shared<I, std::size_t(digits)> first_;  // the place of a digit's run, less its begin in the tile
};

// ---- ranges

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
  Ranges(const StreamRef& stream, std::uint64_t keys)
      : ranges_(group_ranges(stream.device(), keys, tile_size<std::uint32_t>)),
        memory_(stream, {{element_type<std::int64_t>, digits * ranges_.count},
                         {element_type<std::int64_t>, digits}}) {}

  /// A pass for each byte. Each key has a word of `payload`, or none has. The results are in `from`.
  template <class P, bool paired>
  void sort(const StreamRef& stream, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    const AnyArrayView counts = memory_[0], totals = memory_[1];
    const bool one_range = ranges_.count == 1;
    for (U shift = 0; shift < 8 * sizeof(U); shift = U(shift + 8)) {
      count_kernel<U>(order)(stream, keys.from, counts, shift, ranges_.size);
      if (!one_range) rows_kernel()(stream, counts, totals);
      move_kernel<U, P, paired>(order)(stream, keys.from, keys.to, payload.from, payload.to, counts,
                                       one_range ? counts : totals, shift, ranges_.size);
      std::swap(keys.from, keys.to);
      if (paired) std::swap(payload.from, payload.to);
    }
  }

 private:
  Chunks ranges_;  // of whole tiles, whichever word these have
  Workspace memory_;
};

// ---- sweeps

/// Keys of a tile that each thread has.
template <class W>
constexpr std::int64_t swept_keys = sizeof(W) > 4 ? 16 : 32;

/// What a tile has published of a digit: nothing yet, the number of its keys, or of those of all tiles up to
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
const Kernel<void(View<std::uint32_t>)>& starts_kernel() {
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
  Sweeps(const StreamRef& stream, std::uint64_t keys)
      : ranges_(group_ranges(stream.device(), keys, tile_size<std::uint32_t>)),
        states_((static_cast<std::int64_t>(keys) + tile - 1) / tile * digits),
        numbers_(scratch(stream, element_type<std::uint32_t>, passes * (2 * digits + states_))) {}

  /// As Ranges::sort.
  template <class P, bool paired>
  void sort(const StreamRef& stream, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    numbers_.fill_zero(stream);
    const AnyArrayView starts = part(0, 0, passes * digits);
    histogram_kernel<U>(order)(stream, keys.from, starts, ranges_.size);
    starts_kernel()(stream, starts);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      sweep_kernel<U, P, paired>(order)(stream, keys.from, keys.to, payload.from, payload.to,
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
  Chunks ranges_;        // of the histogram
  std::int64_t states_;  // of a pass
  AnyArray numbers_;     // the places of the digits of each pass, the numbers of taken tiles, and the states
};

/// The passes of a sort with tiles of words W. Has all scratch memory before anything is submitted.
template <class U, class W>
class Passes {
 public:
  Passes(const StreamRef& stream, std::uint64_t keys) {
    if (keys <= number_mask && groups_may_wait(stream.device()))
      sweeps_.emplace(stream, keys);
    else
      ranges_.emplace(stream, keys);
  }
  template <class P, bool paired>
  void sort(const StreamRef& stream, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    if (sweeps_)
      sweeps_->template sort<P, paired>(stream, order, keys, payload);
    else
      ranges_->template sort<P, paired>(stream, order, keys, payload);
  }

 private:
  std::optional<Ranges<U>> ranges_;
  std::optional<Sweeps<U, W>> sweeps_;
};

/// Copies what an odd number of passes has left in scratch memory.
void copy_back(const StreamRef& stream, const AnyArrayView& array, const Buffers& sorted) {
  if (array.offset() != sorted.from.offset() || array.block() != sorted.from.block())
    array.copy_from_array(stream, sorted.from);
}

template <class U>
class GroupSort {
 public:
  GroupSort(const StreamRef& stream, const KeyOrder& order, const AnyArrayView& keys)
      : stream_(stream), order_(order), keys_(keys), n_(static_cast<std::int64_t>(keys.size())) {}

  void keys() const {
    using P = std::uint32_t;  // that of other kernels, so that there are fewer
    const Passes<U, TileWord<U, P>> passes(stream_, keys_.size());
    const Workspace memory(stream_, {of_keys(), {element_type<P>, 1}});
    Buffers keys{keys_, memory[0]}, unused{memory[1], memory[1]};
    passes.template sort<P, false>(stream_, order_, keys, unused);
    copy_back(stream_, keys_, keys);
  }

  /// Values of one word P each.
  template <class P>
  void with_words(const AnyArrayView& values) const {
    const Passes<U, TileWord<U, P>> passes(stream_, keys_.size());
    const Workspace memory(stream_, {of_keys(), {element_type<P>, n_}});
    Buffers keys{keys_, memory[0]}, moved{values, memory[1]};
    passes.template sort<P, true>(stream_, order_, keys, moved);
    copy_back(stream_, keys_, keys);
    copy_back(stream_, values, moved);
  }

  /// Values of any type, moved at the end by the indices I of their keys.
  template <class I>
  void with_indices(const AnyArrayView& values) const {
    const Passes<U, TileWord<U, I>> passes(stream_, keys_.size());
    const Workspace memory(stream_,
                           {of_keys(), {element_type<I>, n_}, {element_type<I>, n_}, {values.element(), n_}});
    Buffers keys{keys_, memory[0]}, index{memory[1], memory[2]};
    count_up_kernel<I>()(stream_, index.from);
    passes.template sort<I, true>(stream_, order_, keys, index);
    copy_back(stream_, keys_, keys);
    submit_gather(stream_, values, index.from, memory[3]);
    values.copy_from_array(stream_, memory[3]);
  }

 private:
  Workspace::Part of_keys() const { return {element_type<U>, n_}; }
  StreamRef stream_;
  KeyOrder order_;
  AnyArrayView keys_;
  std::int64_t n_;
};

}  // namespace

void submit_group_sort(const StreamRef& stream, const KeyOrder& order, const AnyArrayView& keys,
                       const AnyArrayView* values) {
  for_word_type(keys, [&]<class U>(U) {
    const GroupSort<U> sort(stream, order, keys);
    if (!values) return sort.keys();
    const std::size_t bytes = values->element().size();
    const AnyArrayView words = as_words(*values);
    const bool one_word = words.size() == values->size();
    if (one_word && bytes == 4) return sort.template with_words<std::uint32_t>(words);
    if (one_word && bytes == 8) return sort.template with_words<std::uint64_t>(words);
    if (keys.size() <= std::uint64_t{1} << 32) return sort.template with_indices<std::uint32_t>(*values);
    return sort.template with_indices<std::uint64_t>(*values);
  });
}

}  // namespace weir::algorithms
