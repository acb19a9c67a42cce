// SPDX-License-Identifier: Apache-2.0
// Selection by groups. A first kernel marks the chosen elements, a bit each, and counts those of each range.
// From the marks of a tile, each sub-group then computes the places of its elements, without waiting for
// others.
#pragma once

#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/steps.hpp"

namespace weir::algorithms {

/// Elements of a range are a multiple of this, in all kernels that write or read marks.
inline constexpr std::int64_t marked_tile = tile_size<std::uint32_t>;
/// Elements whose marks are in one word: bit l of word w is that of element row * w + l.
inline constexpr std::int64_t marks_of_word = 32;
static_assert(marks_of_word == row);

/// Words for the marks of `n` elements: those of whole tiles.
inline std::int64_t mark_words(std::int64_t n) {
  return (n + marked_tile - 1) / marked_tile * (marked_tile / marks_of_word);
}

/// Scratch memory of a selection from ranges of elements.
struct Marks {
  AnyArrayView words;   ///< std::uint32_t[mark_words(n)]
  AnyArrayView counts;  ///< std::int64_t, of the marked elements of each range
  Chunks ranges;
};

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

/// The marks of a tile, in registers: each thread has four words, and the number of marks before each of
/// them. Construct it in all threads of a sub-group together.
class TileMarks {
 public:
  TileMarks(const View<const std::uint32_t>& marks, const Index& base) {
    const Index first = base / marks_of_word + cast<std::int64_t>(lane<row>()) * four;
    Var<std::uint32_t> own = 0u;
    for (std::int64_t k = 0; k < four; ++k) {
      words_.emplace_back(marks[first + k]);
      own += popcount(words_.back());
    }
    const auto add = [](const Value<std::uint32_t>& a, const Value<std::uint32_t>& b) { return a + b; };
    const Value<std::uint32_t> up_to_here = subgroup_scan<row>(own, add);
    before_.push_back(up_to_here - own);
    for (std::size_t k = 1; k < words_.size(); ++k)
      before_.push_back(before_[k - 1] + popcount(words_[k - 1]));
    total_.emplace_back(shuffle<row>(up_to_here, int(row) - 1));
  }

  /// Of word `first * four + k`, where `k` is a constant from 0 to 3 and all threads of the sub-group have
  /// the same `first`.
  Value<std::uint32_t> word(std::int64_t k, const Value<std::int32_t>& first) const {
    return shuffle<row>(words_[std::size_t(k)], first);
  }
  Value<std::uint32_t> before(std::int64_t k, const Value<std::int32_t>& first) const {
    return shuffle<row>(before_[std::size_t(k)], first);
  }
  const Value<std::uint32_t>& total() const { return total_.front(); }

 private:
  static_assert(marked_tile == marks_of_word * four * row);
  std::vector<Value<std::uint32_t>> words_, before_, total_;
};

/// Marks the elements of `x` that differ from the one before it.
void submit_group_heads(const Steps& steps, const AnyArrayView& x, const Marks& marks);
/// Moves the marked elements of `x` to the beginning of `result`, and with `with_rest` the others after them.
/// Both consist of words, of which each of the `elements` has the same number. Writes the number of marks to
/// `count`.
void submit_group_place(const Steps& steps, const AnyArrayView& x, std::uint64_t elements, const Marks& marks,
                        const AnyArrayView& result, const AnyArrayView& count, bool with_rest,
                        const char* name);

/// The ranges of `n` elements that groups select from.
Chunks selection_ranges(const Steps& steps, std::uint64_t n);

}  // namespace weir::algorithms
