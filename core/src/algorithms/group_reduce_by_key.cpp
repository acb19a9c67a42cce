// SPDX-License-Identifier: Apache-2.0
// Combines the values of equal keys by groups, for integers, whose bits do not depend on the order. Each
// group combines the runs inside its range; one group then completes those that continue in later ranges.
#include "algorithms/chunks.hpp"
#include "algorithms/group_select.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"

namespace weir::algorithms {
namespace {

/// Runs that begin among some values, and the combination of the values since the last of them began, or of
/// all.
template <class W, class Count>
struct Runs {
  Value<Count> begun;
  Value<W> value;
};

/// The runs before each thread of a group. Declare it directly in the body of a group loop. All threads must
/// call it together; calls may follow one another without a barrier.
template <class W, class Count>
class RunScan {
 public:
  using Part = Runs<W, Count>;
  struct Result {
    Part before;  ///< of the threads with lower numbers
    Part total;
  };

  Result operator()(const Index& thread, const Part& part, Combine combine) const {
    const Value<std::int32_t> own = lane<row>();
    const Index own_row = thread / row;
    Var<Count> begun = part.begun;
    Var<W> value = part.value;
    for (std::int32_t step = 1; step < std::int32_t(row); step *= 2) {
      const Part here{Value<Count>(begun), Value<W>(value)};
      const Part both =
          joined({shuffle_up<row>(here.begun, step), shuffle_up<row>(here.value, step)}, here, combine);
      begun = select(own >= step, both.begun, here.begun);
      value = select(own >= step, both.value, here.value);
    }
    if_(own == std::int32_t(row - 1), [&] {
      begun_[own_row] = begun;
      values_[own_row] = value;
    });
    barrier();
    Var<Count> all = Count(0), above = Count(0);
    Var<W> of_all = identity<W>(combine), of_above = identity<W>(combine);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Part so_far{Value<Count>(all), Value<W>(of_all)};
      above = select(own_row == r, so_far.begun, Value<Count>(above));
      of_above = select(own_row == r, so_far.value, Value<W>(of_above));
      const Part both = joined(so_far, {Value<Count>(begun_[r]), Value<W>(values_[r])}, combine);
      all = both.begun;
      of_all = both.value;
    }
    barrier();  // before the next call
    const Part of_row{shuffle_up<row>(begun, 1), shuffle_up<row>(value, 1)};
    const Part of_rows{Value<Count>(above), Value<W>(of_above)};
    const Part before = joined(of_rows, of_row, combine);
    return {{select(own == 0, of_rows.begun, before.begun), select(own == 0, of_rows.value, before.value)},
            {Value<Count>(all), Value<W>(of_all)}};
  }

 private:
  static Part joined(const Part& first, const Part& next, Combine combine) {
    return {first.begun + next.begun,
            select(next.begun == Count(0), combined<W>(combine, first.value, next.value), next.value)};
  }
  Shared<Count, std::size_t(rows)> begun_;
  Shared<W, std::size_t(rows)> values_;
};

template <class T, class W = Word<T>>
using RunsKernel = void(View<const std::uint32_t>, View<const T>, View<const std::int64_t>, View<T>, View<W>,
                        View<W>, Value<std::int64_t>, Size);

/// lead[r]: the values of range r before its first head. last[r]: those from its last head on.
template <class T, class W = Word<T>>
const Kernel<RunsKernel<T>>& runs_kernel(Combine combine) {
  static auto& cache = *new KernelCache<RunsKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<RunsKernel<T>>(
        "reduce_by_key", with_constants([combine](View<const std::uint32_t> heads, View<const T> values,
                                                  View<const std::int64_t> counts, View<T> result,
                                                  View<W> lead, View<W> last, Index size, Size used) {
          group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
            Tile<W> tile(t);
            GroupScan<std::int64_t> scan;
            RunScan<W, std::uint32_t> runs;
            const Index n = elements_of(values.size(), used);
            const W neutral = identity<T>(combine);
            constexpr std::int64_t each = per_thread<W>;
            Var<std::int64_t> below = 0;
            for_(t, g, group_size, [&](Index i) { below += counts[i]; });
            const Index first = scan.sum(t, below).total;
            Var<std::int64_t> begun = first;  // runs of all tiles so far
            Var<W> open = neutral;            // the value of the last of them
            for_tiles<W>(g, size, n, [&](Index base) {
              const Index own = base + t * each;
              const Value<std::uint32_t> marks =
                  (heads[own / marks_of_word] >> cast<std::uint32_t>(own % marks_of_word)) &
                  ((1u << std::uint32_t(each)) - 1u);
              tile.load(loaded(strided(t, base, each), n, neutral,
                               [&](const Index& i) { return cast<W>(Value<T>(values[i])); }));
              barrier();
              std::vector<Value<bool>> head;
              std::vector<Value<W>> value;
              Var<W> sum = neutral;
              const auto append = [&](std::size_t k) {
                const Value<W> so_far = sum;
                sum = select(head[k], value[k], combined<W>(combine, so_far, value[k]));
              };
              for (std::int64_t k = 0; k < each; ++k) {
                head.push_back((marks & (1u << std::uint32_t(k))) != 0u);
                value.emplace_back(tile.own(k));
                append(std::size_t(k));
              }
              const auto [before, all] = runs(t, {popcount(marks), Value<W>(sum)}, combine);
              const Value<W> opened = open;
              sum = select(before.begun == 0u, combined<W>(combine, opened, before.value), before.value);
              Var<std::int64_t> run = begun + cast<std::int64_t>(before.begun) - 1;
              for (std::int64_t k = 0; k < each; ++k) {
                if_(head[std::size_t(k)], [&] {
                  if_(run < first, [&] { lead[g] = sum; }).else_([&] { result[run] = cast<T>(sum); });
                  run += 1;
                });
                append(std::size_t(k));
              }
              open = select(all.begun == 0u, combined<W>(combine, opened, all.value), all.value);
              begun += cast<std::int64_t>(all.begun);
            });
            if_(t == 0, [&] { if_(begun == first, [&] { lead[g] = open; }).else_([&] { last[g] = open; }); });
          });
        }));
  });
}

template <class T, class W = Word<T>>
using JoinKernel = void(View<const std::int64_t>, View<const W>, View<const W>, View<T>);

/// Completes the last run of each range. One group, whose threads take consecutive ranges.
template <class T, class W = Word<T>>
const Kernel<JoinKernel<T>>& join_kernel(Combine combine) {
  static auto& cache = *new KernelCache<JoinKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<JoinKernel<T>>(
        "reduce_by_key_join", with_constants([combine](View<const std::int64_t> counts, View<const W> lead,
                                                       View<const W> last, View<T> result) {
          group_for(groups(1), threads<group_size>, [&](Index, Index t) {
            RunScan<W, std::int64_t> runs;
            const Index ranges = counts.size();
            const W neutral = identity<T>(combine);
            constexpr std::int64_t each = std::int64_t(max_ranges) / group_size;
            std::vector<Value<std::int64_t>> count;
            std::vector<Value<W>> leads, lasts;
            Var<std::int64_t> below = 0;
            Var<W> sum = neutral;
            const auto append = [&](std::size_t k) {
              const Value<W> so_far = sum;
              sum = select(count[k] != 0, lasts[k], combined<W>(combine, so_far, leads[k]));
            };
            for (std::int64_t k = 0; k < each; ++k) {
              const Index r = t * each + k, here = min(r, ranges - 1);
              count.push_back(select(r < ranges, Value<std::int64_t>(counts[here]), 0));
              // A range has a lead, unless it begins with a head, and a last run if it has a head.
              Var<W> from_lead = neutral, from_last = neutral;
              if_((r > 0) & (r < ranges), [&] { from_lead = lead[here]; });
              if_(count.back() != 0, [&] { from_last = last[here]; });
              leads.emplace_back(from_lead);
              lasts.emplace_back(from_last);
              below += count.back();
              append(std::size_t(k));
            }
            const auto [before, total] = runs(t, {Value<std::int64_t>(below), Value<W>(sum)}, combine);
            sum = before.value;
            below = before.begun;
            for (std::int64_t k = 0; k < each; ++k) {
              const Value<W> so_far = sum;
              const Index run = below;
              if_((count[std::size_t(k)] != 0) & (run > 0),
                  [&] { result[run - 1] = cast<T>(combined<W>(combine, so_far, leads[std::size_t(k)])); });
              below = run + count[std::size_t(k)];
              append(std::size_t(k));
            }
            if_((t == 0) & (total.begun > 0), [&] { result[total.begun - 1] = cast<T>(total.value); });
          });
        }));
  });
}

template <class T, class W = Word<T>>
void reduce_by_groups(const Steps& steps, const AnyArrayView& keys, const AnyArrayView& values,
                      const AnyArrayView& result_keys, const AnyArrayView& result_values,
                      const AnyArrayView& count, Combine combine) {
  const Chunks ranges = selection_ranges(steps, keys.size());
  const Workspace memory(steps,
                         {{element_type<std::uint32_t>, mark_words(static_cast<std::int64_t>(keys.size()))},
                          {element_type<std::int64_t>, ranges.count},
                          {element_type<W>, ranges.count},
                          {element_type<W>, ranges.count}});
  const Marks heads{memory[0], memory[1], ranges};
  const AnyArrayView lead = memory[2], last = memory[3];
  submit_group_heads(steps, keys, heads);
  submit_group_place(steps, as_words(keys), keys.size(), heads, as_words(result_keys), count, false,
                     "compact");
  steps.launch(runs_kernel<T>(combine), heads.words, values, heads.counts, result_values, lead, last,
               ranges.size, steps.size(values));
  steps.launch(join_kernel<T>(combine), heads.counts, lead, last, result_values);
}

}  // namespace

void submit_group_reduce_by_key(const Steps& steps, const AnyArrayView& keys, const AnyArrayView& values,
                                const AnyArrayView& result_keys, const AnyArrayView& result_values,
                                const AnyArrayView& count, Combine combine) {
  for_number_type(values.element().scalar, [&]<class T>(T) {
    if constexpr (std::integral<T>)
      reduce_by_groups<T>(steps, keys, values, result_keys, result_values, count, combine);
  });
}

}  // namespace weir::algorithms
