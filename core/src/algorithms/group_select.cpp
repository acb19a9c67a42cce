// SPDX-License-Identifier: Apache-2.0
// compact, partition and unique by groups. Adjacent threads write kept elements to adjacent places.
#include "algorithms/group_select.hpp"

#include "algorithms/chunks.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

template <class T>
using MarkKernel = void(View<const T>, View<std::uint32_t>, View<std::int64_t>, Value<std::int64_t>, Size);

/// `flag` says which elements are marked, from the first of four, or one alone.
template <class T, class Flag>
const Kernel<MarkKernel<T>>& mark_kernel(const char* name, const Flag& flag) {
  static const auto& kernel = *new Kernel<MarkKernel<T>>(
      name, with_constants([flag](View<const T> x, View<std::uint32_t> marks, View<std::int64_t> counts,
                                  Index size, Size used) {
        using Bits = Value<std::uint32_t>;
        constexpr std::int64_t fours = per_thread<std::uint32_t> / four, threads_of_word = row / four;
        group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
          GroupScan<std::uint32_t> scan;
          const Index n = elements_of(x.size(), used);
          Var<std::uint32_t> count = 0u;
          const Bits own = cast<std::uint32_t>(lane<row>());
          for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
            const Elements of_tile = in_fours(t, base, fours * four);
            std::deque<Var<std::uint32_t>> bits;
            for (std::int64_t k = 0; k < fours; ++k) bits.emplace_back(0u);
            if_(base + marked_tile <= n, [&] {
              for (std::int64_t k = 0; k < fours; ++k) {
                const std::vector<Value<bool>> flags = flag.four(x, of_tile.first + k * fours_of_row);
                for (std::uint32_t j = 0; j < four; ++j)
                  bits[std::size_t(k)] |= cast<std::uint32_t>(flags[j]) << j;
              }
            }).else_([&] {
              for (std::int64_t k = 0; k < fours; ++k) {
                for (std::uint32_t j = 0; j < four; ++j) {
                  const Index i = of_tile.first + of_tile.place(k * four + j);
                  if_(i < n, [&] { bits[std::size_t(k)] |= cast<std::uint32_t>(flag.one(x, i)) << j; });
                }
              }
            });
            // The threads of a word exchange its bits. Then each of the first `fours` of them stores one
            // word.
            Var<std::uint32_t> stored = 0u;
            for (std::int64_t k = 0; k < fours; ++k) {
              const Bits here = bits[std::size_t(k)];
              count += popcount(here);
              Var<std::uint32_t> word = here << (own % std::uint32_t(threads_of_word) * std::uint32_t(four));
              for (std::int32_t step = 1; step < threads_of_word; step *= 2) {
                const Bits so_far = word;
                word = so_far | shuffle_xor<row>(so_far, step);
              }
              stored =
                  select(own % std::uint32_t(threads_of_word) == std::uint32_t(k), Bits(word), Bits(stored));
            }
            const Index lane_number = cast<std::int64_t>(own);
            const Index word = base / marks_of_word + t / row * (fours * four) +
                               lane_number % threads_of_word * four + lane_number / threads_of_word;
            if_(lane_number % threads_of_word < fours, [&] { marks[word] = stored; });
          });
          const Value<std::uint32_t> total = scan.sum(t, count).total;
          if_(t == 0, [&] { counts[g] = cast<std::int64_t>(total); });
        });
      }));
  return kernel;
}

struct IsTrue {
  Value<bool> one(const View<const bool>& keep, const Index& i) const { return keep[i]; }
  std::vector<Value<bool>> four(const View<const bool>& keep, const Index& first) const {
    std::vector<Value<bool>> flags;
    for (std::int64_t j = 0; j < algorithms::four; ++j) flags.emplace_back(keep[first + j]);
    return flags;
  }
};
struct IsHead {
  template <class T>
  Value<bool> one(const View<const T>& x, const Index& i) const {
    const Value here = x[i], before = x[max(i, 1) - 1];
    return (i == 0) | (here != before);
  }
  template <class T>
  std::vector<Value<bool>> four(const View<const T>& x, const Index& first) const {
    const Value before = x[max(first, 1) - 1];
    std::vector<std::remove_const_t<decltype(before)>> here;
    for (std::int64_t j = 0; j < algorithms::four; ++j) here.emplace_back(x[first + j]);
    std::vector<Value<bool>> flags{(first == 0) | (here[0] != before)};
    for (std::size_t j = 1; j < here.size(); ++j) flags.push_back(here[j] != here[j - 1]);
    return flags;
  }
};

template <class U>
using PlaceKernel = void(View<const U>, View<const std::uint32_t>, View<const std::int64_t>, View<U>,
                         View<std::int64_t>, Value<std::int64_t>, Size);

/// Moves elements of `words` words each.
template <class U>
Kernel<PlaceKernel<U>> place_kernel(const char* name, std::int64_t words, bool with_rest) {
  return Kernel<PlaceKernel<U>>(
      name,
      with_constants([=](View<const U> x, View<const std::uint32_t> marks, View<const std::int64_t> counts,
                         View<U> result, View<std::int64_t> count, Index size, Size used) {
        constexpr std::int64_t each = per_thread<std::uint32_t>;
        group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
          GroupScan<std::int64_t> scan;
          const Index n = elements_of(x.size() / words, used);
          const auto [before, all] = counted(g, t, counts, scan);
          Var<std::int64_t> start = before;
          const Value<std::int32_t> own = lane<row>();
          const Value<std::uint32_t> bit = Value<std::uint32_t>(1u) << cast<std::uint32_t>(own);
          for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
            const Index so_far = start;
            const Elements of_tile = in_rows(t, base, each);
            // All elements, also those that are not kept: loads in branches would wait for one another.
            std::vector<Value<U>> values;
            if (words == 1) values = loaded(of_tile, n, U(0), [&](const Index& i) { return x[i]; });
            const TileMarks tile(marks, base);
            std::vector<Value<bool>> keeps;
            std::vector<Index> to;
            const Value<std::int32_t> first_word = cast<std::int32_t>(t / row * (each / four));
            for (std::int64_t k = 0; k < each; ++k) {
              const Value<std::int32_t> of = first_word + int(k / four);
              const Value<std::uint32_t> word = tile.word(k % four, of);
              keeps.push_back((word & bit) != 0u);
              to.push_back(so_far +
                           cast<std::int64_t>(tile.before(k % four, of) + popcount(word & (bit - 1u))));
            }
            for_each_of(of_tile, n, [&](std::int64_t k, const Index& i) {
              const auto at = std::size_t(k);
              const auto move = [&](const Index& place) {
                if (words == 1)
                  result[place] = values[at];
                else
                  for_(0, words, [&](Index c) { result[place * words + c] = x[i * words + c]; });
              };
              if (with_rest)
                move(select(keeps[at], to[at], all + (i - to[at])));
              else
                if_(keeps[at], [&] { move(to[at]); });
            });
            start = so_far + cast<std::int64_t>(tile.total());
          });
          if_((t == 0) & (g == 0), [&] { count[0] = all; });
        });
      }));
}

Workspace marks_memory(const Steps& steps, std::uint64_t n, const Chunks& ranges) {
  return Workspace(steps, {{element_type<std::uint32_t>, mark_words(static_cast<std::int64_t>(n))},
                           {element_type<std::int64_t>, ranges.count}});
}

}  // namespace

Chunks selection_ranges(const Steps& steps, std::uint64_t n) {
  return group_ranges(steps.device(), n, marked_tile);
}

void submit_group_heads(const Steps& steps, const AnyArrayView& x, const Marks& marks) {
  for_element_type(x.element().scalar, [&]<class T>(T) {
    steps.launch(mark_kernel<T>("mark_heads", IsHead()), x, marks.words, marks.counts, marks.ranges.size,
                 steps.size(x));
  });
}

void submit_group_place(const Steps& steps, const AnyArrayView& x, std::uint64_t elements, const Marks& marks,
                        const AnyArrayView& result, const AnyArrayView& count, bool with_rest,
                        const char* name) {
  for_word_type(x, [&]<class U>(U) {
    static auto& cache = *new KernelCache<PlaceKernel<U>>;
    const auto words = static_cast<std::int64_t>(x.size() / elements);
    const auto& kernel = cache.get(static_cast<std::uint32_t>(words) * 2 + with_rest,
                                   [&] { return place_kernel<U>(name, words, with_rest); });
    steps.launch(kernel, x, marks.words, marks.counts, result, count, marks.ranges.size, steps.size(x));
  });
}

void submit_group_select(const Steps& steps, const AnyArrayView& x, const AnyArrayView& keep,
                         const AnyArrayView& result, const AnyArrayView& count, bool with_rest) {
  const Chunks ranges = selection_ranges(steps, x.size());
  const Workspace memory = marks_memory(steps, x.size(), ranges);
  const Marks marks{memory[0], memory[1], ranges};
  steps.launch(mark_kernel<bool>("mark", IsTrue()), keep, marks.words, marks.counts, ranges.size,
               steps.size(keep));
  submit_group_place(steps, as_words(x), x.size(), marks, as_words(result), count, with_rest,
                     with_rest ? "partition" : "compact");
}

void submit_group_unique(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result,
                         const AnyArrayView& count) {
  const Chunks ranges = selection_ranges(steps, x.size());
  const Workspace memory = marks_memory(steps, x.size(), ranges);
  const Marks marks{memory[0], memory[1], ranges};
  submit_group_heads(steps, x, marks);
  submit_group_place(steps, as_words(x), x.size(), marks, as_words(result), count, false, "compact");
}

}  // namespace weir::algorithms
