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
// A digit has 8 bits. Wider ones mean fewer passes, but shorter runs. In a tile of 8,192 keys a run has 32 on
// average, a line of a GPU's cache. To sort a tile, each sub-group takes as many consecutive keys at a time as
// it has threads. Marks in shared memory, or eight ballots, tell each thread which of them have its digit, and
// a counter of the sub-group how many it had before.
#include <optional>

#include "algorithms/sort.hpp"
#include "algorithms/sort_ranges.hpp"
#include "algorithms/sort_sweeps.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
namespace weir::algorithms {
namespace {

/// The passes of a sort with tiles of words W. Has all scratch memory before anything is submitted.
template <class U, class W>
class Passes {
 public:
  Passes(const Steps& steps, std::uint64_t keys) {
    if (keys <= number_mask && groups_may_wait(steps.device()))
      sweeps_.emplace(steps, keys);
    else
      ranges_.emplace(steps, keys);
  }
  template <class P, bool paired>
  void sort(const Steps& steps, const KeyOrder& order, Buffers& keys, Buffers& payload) const {
    fill_rest<U>(steps, order, keys.from);
    if (sweeps_)
      sweeps_->template sort<P, paired>(steps, order, keys, payload);
    else
      ranges_->template sort<P, paired>(steps, order, keys, payload);
  }

 private:
  std::optional<Ranges<U>> ranges_;
  std::optional<Sweeps<U, W>> sweeps_;
};

/// Copies the result of an odd number of passes from scratch memory.
void copy_back(const Steps& steps, const AnyArrayView& array, const Buffers& sorted) {
  if (array.offset() != sorted.from.offset() || array.block() != sorted.from.block())
    steps.copy(array, sorted.from);
}

template <class U>
class GroupSort {
 public:
  GroupSort(const Steps& steps, const KeyOrder& order, const AnyArrayView& keys)
      : steps_(steps), order_(order), keys_(keys), n_(static_cast<std::int64_t>(keys.size())) {}

  void keys() const {
    using P = std::uint32_t;  // that of other kernels, so that there are fewer
    const Passes<U, TileWord<U, P>> passes(steps_, keys_.size());
    const Workspace memory(steps_, {of_keys(), {element_type<P>, 1}});
    Buffers keys{keys_, memory[0]}, unused{memory[1], memory[1]};
    passes.template sort<P, false>(steps_, order_, keys, unused);
    copy_back(steps_, keys_, keys);
  }

  /// Values of one word P each.
  template <class P>
  void with_words(const AnyArrayView& values) const {
    const Passes<U, TileWord<U, P>> passes(steps_, keys_.size());
    const Workspace memory(steps_, {of_keys(), {element_type<P>, n_}});
    Buffers keys{keys_, memory[0]}, moved{values, memory[1]};
    passes.template sort<P, true>(steps_, order_, keys, moved);
    copy_back(steps_, keys_, keys);
    copy_back(steps_, values, moved);
  }

  /// Values of any type, moved at the end by the indices I of their keys.
  template <class I>
  void with_indices(const AnyArrayView& values) const {
    const Passes<U, TileWord<U, I>> passes(steps_, keys_.size());
    const Workspace memory(steps_,
                           {of_keys(), {element_type<I>, n_}, {element_type<I>, n_}, {values.element(), n_}});
    Buffers keys{keys_, memory[0]}, index{memory[1], memory[2]};
    steps_.launch(count_up_kernel<I>(), index.from);
    passes.template sort<I, true>(steps_, order_, keys, index);
    copy_back(steps_, keys_, keys);
    submit_gather(steps_, values, index.from, memory[3], no_elements(index.from));
    steps_.copy(values, memory[3]);
  }

 private:
  Workspace::Part of_keys() const { return {element_type<U>, n_}; }
  const Steps& steps_;
  KeyOrder order_;
  AnyArrayView keys_;
  std::int64_t n_;
};

}  // namespace

void submit_group_sort(const Steps& steps, const KeyOrder& order, const AnyArrayView& keys,
                       const AnyArrayView* values) {
  for_word_type(keys, [&]<class U>(U) {
    const GroupSort<U> sort(steps, order, keys);
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
