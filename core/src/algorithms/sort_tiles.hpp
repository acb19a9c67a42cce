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

/// The places of a tile's keys in the order of their digits, as in_rows<width>() counts keys. The tile's
/// memory, `Words` words W, is used until all places are known, if it is large enough. Declare it directly in
/// the body of a group loop. All threads must call it together.
template <class W, std::size_t Words>
class TilePlaces {
  static constexpr std::uint32_t narrow = 16;

 public:
  /// Whether the threads of a sub-group mark a word of the tile's memory for each digit: a bit for each
  /// thread with a key of that digit, and above them the number of earlier ones. Else ballots find equal
  /// digits, and the counters have memory of their own.
  static constexpr bool uses_marks = Words >= std::size_t(group_size / narrow * digits);
  /// Threads of a sub-group. With 16, a word holds both the marks and the number, so that one access reads or
  /// writes them. The accesses are to 256 random words, and their bank conflicts bound the speed.
  static constexpr std::uint32_t width = uses_marks ? narrow : row;
  using Memory = Shared<W, Words>;

  TilePlaces(const Index& thread, const Memory& memory)
      : memory_(memory), thread_(thread), counters_(thread / width * digits) {}

  /// Ranks the keys of each sub-group; equal digits keep their order. Returns the number of the tile's keys
  /// whose digit is the thread's number.
  Value<std::uint32_t> count(const std::vector<Value<std::uint32_t>>& digit) {
    for (std::int64_t k = 0; k < counters; k += group_size) set(k + thread_, Value<std::uint32_t>(0u));
    barrier();
    const Value<std::uint32_t> own = Value<std::uint32_t>(1u) << cast<std::uint32_t>(lane<width>());
    for (std::size_t k = 0; k < digit.size(); ++k) {
      const Value<std::uint32_t>& of = digit[k];
      const Index counter = counters_ + cast<std::int64_t>(of);
      std::optional<Value<std::uint32_t>> equal;  // the threads of the sub-group with the same digit
      if constexpr (uses_marks) {
        atomic_or(memory_[counter], cast<W>(own));
        subgroup_barrier<width>();
      } else {
        equal.emplace(equal_by_ballots(of));
      }
      const Value<std::uint32_t> word = at(counter);
      if constexpr (uses_marks) equal.emplace(word & marks);
      const Value<std::uint32_t> earlier = word >> number_at;
      const Value<std::uint32_t> lower = popcount(*equal & (own - 1u));
      subgroup_barrier<width>();  // all have read the word
      if_(lower == 0u, [&] { set(counter, (earlier + popcount(*equal)) << number_at); });
      // Together, both stay in one register.
      ranked_.push_back((earlier | (of << rank_bits)) + lower);
      // The counters of a sub-group are read by others after the last key only.
      if (k + 1 == digit.size())
        barrier();
      else
        subgroup_barrier<width>();
    }
    Var<std::uint32_t> sum = 0u;
    for (std::int64_t r = 0; r < sub_groups; ++r) sum += at(r * digits + thread_) >> number_at;
    return sum;
  }
  /// The begin of the run of that digit, from the result of count(). Call a barrier before place().
  Value<std::uint32_t> begin(const Value<std::uint32_t>& count) const {
    const Value<std::uint32_t> begin = scan_.sum(thread_, count).before;
    Var<std::uint32_t> next = begin;
    for (std::int64_t r = 0; r < sub_groups; ++r) {
      const Value<std::uint32_t> own = at(r * digits + thread_) >> number_at, first = next;
      set(r * digits + thread_, first);
      next = first + own;
    }
    return begin;
  }
  /// The place of key k. After begin() and a barrier. Call a barrier before the tile's memory is overwritten.
  Value<std::uint32_t> place(std::size_t k) const {
    return at(counters_ + cast<std::int64_t>(ranked_[k] >> rank_bits)) +
           (ranked_[k] & ((1u << rank_bits) - 1u));
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
  Value<std::uint32_t> at(const Index& i) const {
    if constexpr (uses_marks)
      return cast<std::uint32_t>(Value<W>(memory_[i]));
    else
      return counts_[i];
  }
  void set(const Index& i, const Value<std::uint32_t>& value) const {
    if constexpr (uses_marks)
      memory_[i] = cast<W>(value);
    else
      counts_[i] = value;
  }

  static constexpr std::uint32_t rank_bits = 16, number_at = uses_marks ? narrow : 0,
                                 marks = (1u << narrow) - 1;
  static constexpr std::int64_t sub_groups = group_size / width, counters = sub_groups * digits;
  const Memory& memory_;
  Shared<std::uint32_t, std::size_t(uses_marks ? 1 : counters)> counts_;  // of the keys of each sub-group
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
      : order_(order), shift_(shift), thread_(thread), places_(thread, tile_) {}

  /// Of the `count` keys of the tile whose digit is the thread's number, `place_of(count)` returns the place
  /// of the first. It is called once in each thread, as late as possible after `counted(count)`.
  template <class Counted, class PlaceOf>
  void operator()(const Moved<U, P>& arrays, const Index& base, const Counted& counted,
                  const PlaceOf& place_of) {
    const Index n = arrays.keys.size(), used = min(n - base, tile_elements);
    const Elements own = in_rows<Places::width>(thread_, base, Each);
    const std::vector<Value<U>> key = loaded(own, n, U(0), [&](const Index& i) { return arrays.keys[i]; });
    // In 32 bits and without the elements' indices, which would take two registers for each key.
    const auto of_tile = cast<std::uint32_t>(own.first - base), end = cast<std::uint32_t>(used);
    std::vector<Value<std::uint32_t>> digits_of_keys;
    for (std::int64_t k = 0; k < Each; ++k)
      // Keys past the end become the last ones of the last digit.
      digits_of_keys.push_back(select(of_tile + std::uint32_t(own.place(k)) < end,
                                      digit_of_key(key[std::size_t(k)]),
                                      Value<std::uint32_t>(std::uint32_t(digits - 1))));
    const Value<std::uint32_t> count = places_.count(digits_of_keys);
    counted(count);
    const Value<std::uint32_t> begin = places_.begin(count);
    barrier();
    std::vector<Value<std::uint32_t>> to;
    for (std::int64_t k = 0; k < Each; ++k) to.push_back(places_.place(std::size_t(k)));
    if (Places::uses_marks) barrier();
    for (std::int64_t k = 0; k < Each; ++k)
      tile_[cast<std::int64_t>(to[std::size_t(k)])] = cast<W>(key[std::size_t(k)]);
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
  using Places = TilePlaces<W, std::size_t(tile_elements)>;
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
  Places places_;
  Shared<I, std::size_t(digits)> first_;  // the place of a digit's run, less its begin in the tile
};

}  // namespace weir::algorithms
