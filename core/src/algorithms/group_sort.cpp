// SPDX-License-Identifier: Apache-2.0
// Stable radix sort by groups. A pass for each byte of the keys, from the least significant on:
//  1. Each group counts the digits of its range.
//  2. One group for each digit scans its counts over the ranges.
//  3. Each group takes its range tile by tile. It sorts a tile by the digit in shared memory, and writes each
//     run of equal digits to adjacent places after those that it wrote before.
//
// A digit has 8 bits: a pass reads the keys twice and writes them once, so wider digits mean less traffic,
// but a tile of 4,096 keys has runs of 16 keys on average, half a line of a GPU's cache, and with more bits
// they would be shorter. To sort a tile, 2 bits at a time are taken, because the four counts of a thread then
// fit into 64 bits, and one scan of a group adds all of them.
#include "algorithms/groups.hpp"
#include "algorithms/move.hpp"
#include "algorithms/sort.hpp"

namespace weir::algorithms {
namespace {

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
          const Index n = keys.size(), ranges = counts.size() / digits;
          group_for(groups(ranges), threads<group_size>, [&](Index g, Index t) {
            Shared<std::uint32_t, std::size_t(digits)> count;
            count[t] = 0u;
            barrier();
            for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
              const std::vector<Value<U>> key =
                  loaded<std::uint32_t>(t, base, n, U(0), [&](const Index& i) { return keys[i]; });
              for_loaded<std::uint32_t>(t, base, n, [&](std::int64_t k, const Index&) {
                atomic_add(count[digit_of<U>(order, key[std::size_t(k)], shift)], 1u);
              });
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

/// Sorts the words of a tile by the 8 lowest bits. Begins and ends with a barrier.
template <class W>
void sort_tile(const Index& t, const Tile<W>& tile, const GroupScan<std::uint64_t>& scan) {
  constexpr std::uint64_t field = 16;  // bits of a count
  static_assert(tile_size<W> < 1 << field);
  constexpr std::uint64_t add_lower_fields = 0x0001'0001'0001'0000;
  const Value<std::uint64_t> one(1u);
  barrier();
  for_(0, 8, 2, [&](Index bit) {
    std::vector<Value<W>> word;
    std::vector<Value<std::uint64_t>> at;
    Var<std::uint64_t> counts = std::uint64_t{0};
    for (std::int64_t k = 0; k < per_thread<W>; ++k) {
      word.emplace_back(tile.own(k));
      at.push_back(cast<std::uint64_t>((word.back() >> cast<W>(bit)) & W(3)) * field);
      counts += one << at.back();
    }
    const auto [before, total] = scan.sum(t, counts);
    Var<std::uint64_t> places = before + total * add_lower_fields;
    for (std::int64_t k = 0; k < per_thread<W>; ++k) {
      const Value<std::uint64_t> now = places, here = at[std::size_t(k)];
      tile[cast<std::int64_t>((now >> here) & std::uint64_t{0xffff})] = word[std::size_t(k)];
      places = now + (one << here);
    }
    barrier();
  });
}

template <class U, class P>
using TileWord = std::conditional_t<(sizeof(U) > 4 || sizeof(P) > 4), std::uint64_t, std::uint32_t>;

template <class U, class P>
using MoveKernel = void(View<const U>, View<U>, View<const P>, View<P>, View<const std::int64_t>,
                        View<const std::int64_t>, Value<U>, Value<std::int64_t>);

/// Moves keys, and with `paired` the payload of each.
template <class U, class P>
const Kernel<MoveKernel<U, P>>& move_kernel(const KeyOrder& order, bool paired) {
  using W = TileWord<U, P>;
  static auto& cache = *new KernelCache<MoveKernel<U, P>>;
  return cache.get(order.number() * 2 + paired, [&] {
    return Kernel<MoveKernel<U, P>>(
        "sort_move",
        with_constants([=](View<const U> keys, View<U> sorted, View<const P> payload, View<P> moved,
                           View<const std::int64_t> places,  // not of range 0
                           View<const std::int64_t> totals, Value<U> shift, Index size) {
          const Index n = keys.size(), ranges = places.size() / digits;
          group_for(groups(ranges), threads<group_size>, [&](Index g, Index t) {
            Tile<W> tile(t);
            GroupScan<std::uint64_t> scan;
            Shared<std::int64_t, std::size_t(digits)> place;        // of the next key with a digit
            Shared<std::uint32_t, std::size_t(digits)> begin, end;  // of its run in the sorted tile
            const Value<std::int64_t> total = totals[t];
            Var<std::int64_t> first_place =
                cast<std::int64_t>(scan.sum(t, cast<std::uint64_t>(total)).before);
            if_(g > 0, [&] { first_place += places[t * ranges + g]; });
            place[t] = first_place;
            for_tiles<W>(g, size, n, [&](Index base) {
              const Index used = min(n - base, tile_size<W>);
              begin[t] = 0u;
              end[t] = 0u;
              const auto for_places = [&](const auto& body) {
                for (std::int64_t k = 0; k < per_thread<W>; ++k) body(std::size_t(k), t + k * group_size);
              };
              const std::vector<Value<U>> key =
                  loaded<W>(t, base, n, U(0), [&](const Index& i) { return keys[i]; });
              for_places([&](std::size_t k, const Index& i) {
                // Keys past the end become the last ones of the last digit.
                const Value<W> digit =
                    select(i < used, cast<W>(digit_of<U>(order, key[k], shift)), Value<W>(W(digits - 1)));
                tile.loaded(std::int64_t(k)) = digit | cast<W>(i * digits);
              });
              sort_tile<W>(t, tile, scan);
              std::vector<Index> digit, loaded_as;
              for_places([&](std::size_t k, const Index& i) {
                const Value<W> word = tile.loaded(std::int64_t(k)), before = tile[max(i, 1) - 1];
                const Value<W> own = word & W(digits - 1), other = before & W(digits - 1);
                digit.push_back(cast<std::int64_t>(own));
                loaded_as.push_back(cast<std::int64_t>(word / W(digits)));
                if_((i < used) & ((i == 0) | (own != other)), [&] {
                  begin[digit.back()] = cast<std::uint32_t>(i);
                  if_(i > 0, [&] { end[cast<std::int64_t>(other)] = cast<std::uint32_t>(i); });
                });
                if_(i == used - 1, [&] { end[digit.back()] = cast<std::uint32_t>(used); });
              });
              barrier();
              for_places([&](std::size_t k, const Index& i) { tile[loaded_as[k]] = cast<W>(i); });
              barrier();
              std::vector<Index> to;
              for_places([&](std::size_t k, const Index&) {
                to.push_back(cast<std::int64_t>(Value<W>(tile.loaded(std::int64_t(k)))));
              });
              /// Writes an array, whose elements are in the order of loading, in the order of digits.
              const auto scatter = [&](const auto& from, const auto& result, auto element) {
                barrier();
                for_places([&](std::size_t k, const Index&) { tile[to[k]] = cast<W>(from[k]); });
                barrier();
                for_places([&](std::size_t k, const Index& i) {
                  const Value<std::uint32_t> first = begin[digit[k]];
                  const Index at = place[digit[k]] + (i - cast<std::int64_t>(first));
                  const Value<W> word = tile.loaded(std::int64_t(k));
                  if_(i < used, [&] { result[at] = cast<decltype(element)>(word); });
                });
              };
              scatter(key, sorted, U());
              if (paired) {
                scatter(loaded<W>(t, base, n, P(0), [&](const Index& i) { return payload[i]; }), moved, P());
              }
              barrier();
              const Value<std::uint32_t> first = begin[t], last = end[t];
              place[t] += cast<std::int64_t>(last - first);
            });
          });
        }));
  });
}

/// The scratch memory that all passes use.
struct Passes {
  Chunks ranges;
  AnyArrayView counts, totals;
};

/// A pass for each byte. Each key has a word of `payload`, or none has. The results are in `from`.
template <class U, class P>
void sort_words(const StreamRef& stream, const KeyOrder& order, const Passes& passes, Buffers& keys,
                Buffers& payload, bool paired) {
  for (U shift = 0; shift < 8 * sizeof(U); shift = U(shift + 8)) {
    count_kernel<U>(order)(stream, keys.from, passes.counts, shift, passes.ranges.size);
    const bool one_range = passes.ranges.count == 1;
    if (!one_range) rows_kernel()(stream, passes.counts, passes.totals);
    move_kernel<U, P>(order, paired)(stream, keys.from, keys.to, payload.from, payload.to, passes.counts,
                                     one_range ? passes.counts : passes.totals, shift, passes.ranges.size);
    std::swap(keys.from, keys.to);
    if (paired) std::swap(payload.from, payload.to);
  }
}

/// Copies what an odd number of passes has left in scratch memory.
void copy_back(const StreamRef& stream, const AnyArrayView& array, const Buffers& sorted) {
  if (array.offset() != sorted.from.offset() || array.block() != sorted.from.block())
    array.copy_from_array(stream, sorted.from);
}

template <class U>
class GroupSort {
 public:
  GroupSort(const StreamRef& stream, const KeyOrder& order, const AnyArrayView& keys)
      : stream_(stream),
        order_(order),
        keys_(keys),
        n_(static_cast<std::int64_t>(keys.size())),
        ranges_(group_ranges(stream.device(), keys.size(), tile_size<std::uint32_t>)) {}

  void keys() const {
    using P = std::uint32_t;  // that of other kernels, so that there are fewer
    const Workspace memory(stream_, {of_keys(), counts(), totals, {element_type<P>, 1}});
    Buffers keys{keys_, memory[0]}, unused{memory[3], memory[3]};
    sort_words<U, P>(stream_, order_, {ranges_, memory[1], memory[2]}, keys, unused, false);
    copy_back(stream_, keys_, keys);
  }

  /// Values of one word P each.
  template <class P>
  void with_words(const AnyArrayView& values) const {
    const Workspace memory(stream_, {of_keys(), counts(), totals, {element_type<P>, n_}});
    Buffers keys{keys_, memory[0]}, moved{values, memory[3]};
    sort_words<U, P>(stream_, order_, {ranges_, memory[1], memory[2]}, keys, moved, true);
    copy_back(stream_, keys_, keys);
    copy_back(stream_, values, moved);
  }

  /// Values of any type, moved at the end by the indices I of their keys.
  template <class I>
  void with_indices(const AnyArrayView& values) const {
    const Workspace memory(
        stream_,
        {of_keys(), counts(), totals, {element_type<I>, n_}, {element_type<I>, n_}, {values.element(), n_}});
    Buffers keys{keys_, memory[0]}, index{memory[3], memory[4]};
    count_up_kernel<I>()(stream_, index.from);
    sort_words<U, I>(stream_, order_, {ranges_, memory[1], memory[2]}, keys, index, true);
    copy_back(stream_, keys_, keys);
    submit_gather(stream_, values, index.from, memory[5]);
    values.copy_from_array(stream_, memory[5]);
  }

 private:
  static constexpr Workspace::Part totals{element_type<std::int64_t>, digits};
  Workspace::Part of_keys() const { return {element_type<U>, n_}; }
  Workspace::Part counts() const { return {element_type<std::int64_t>, digits * ranges_.count}; }
  StreamRef stream_;
  KeyOrder order_;
  AnyArrayView keys_;
  std::int64_t n_;
  Chunks ranges_;  ///< of whole tiles, whichever word these have
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
