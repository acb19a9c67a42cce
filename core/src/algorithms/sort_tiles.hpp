// SPDX-License-Identifier: Apache-2.0
// How a group sorts a tile of keys by one digit, and moves it; see group_sort.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "algorithms/groups.hpp"
#include "algorithms/sort.hpp"

namespace weir::algorithms {

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

/// The places of a tile's keys in the order of their digits, as in_rows() counts keys. Declare it directly
/// in the body of a group loop. All threads must call it together.
class TilePlaces {
 public:
  explicit TilePlaces(const Index& thread) : thread_(thread), counters_(thread / row * digits) {}

  /// Ranks the keys of each sub-group; equal digits keep their order. Returns the number of the tile's keys
  /// whose digit is the thread's number. Overwrites `masks`, shared words that are free until then.
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
        subgroup_barrier<row>();
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
      // The counters of a sub-group are read by others after the last key only.
      if (k + 1 == digit.size())
        barrier();
      else if (sets < min_sets)
        subgroup_barrier<row>();
    }
    Var<std::uint32_t> sum = 0u;
    for (std::int64_t r = 0; r < rows; ++r) sum += counts_[r * digits + thread_];
    return sum;
  }
  /// The begin of the run of that digit, from the result of count(). Call a barrier before place().
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

}  // namespace weir::algorithms
