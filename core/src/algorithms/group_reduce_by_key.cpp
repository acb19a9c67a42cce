// SPDX-License-Identifier: Apache-2.0
// Combines the values of equal keys by groups, for integers, whose bits do not depend on the order. Each
// group combines the runs inside its range; one group then completes those that continue in later ranges.
#include "algorithms/groups.hpp"
#include "algorithms/reduce_by_key.hpp"
#include "algorithms/select.hpp"

namespace weir::algorithms {
namespace {

/// For each thread of a group, the combination of the values since the last head, in threads with lower
/// numbers. Declare it directly in the body of a group loop. All threads must call it together.
template <class W>
class RunScan {
 public:
  struct Run {
    Value<bool> begins;  ///< a head is among the values
    Value<W> value;      ///< since the last head, or of all
  };
  struct Result {
    Run before, total;
  };

  Result operator()(const Index& thread, const Run& run, Combine combine) const {
    const W neutral = identity<W>(combine);
    const Index row = thread / each;
    heads_[thread + row] = select(run.begins, 1u, 0u);
    values_[thread + row] = run.value;
    barrier();
    if_(thread < rows, [&] {
      Var<std::uint32_t> head = 0u;
      Var<W> sum = neutral;
      for (std::int64_t k = 0; k < each; ++k) {
        const Index at = thread * (each + 1) + k;
        append(head, sum, heads_[at], values_[at], combine, [&](const auto& begun, const auto& value) {
          heads_[at] = begun;
          values_[at] = value;
        });
      }
      row_heads_[thread] = head;
      row_values_[thread] = sum;
    });
    barrier();
    Var<std::uint32_t> head = 0u, head_above = 0u;
    Var<W> sum = neutral, sum_above = neutral;
    for (std::int64_t r = 0; r < rows; ++r)
      append(head, sum, row_heads_[r], row_values_[r], combine, [&](const auto& begun, const auto& value) {
        head_above = select(row == r, begun, Value<std::uint32_t>(head_above));
        sum_above = select(row == r, value, Value<W>(sum_above));
      });
    const Value<std::uint32_t> own_head = heads_[thread + row];
    const Value<W> own = values_[thread + row], above = sum_above;
    const Value<bool> begins = own_head != 0u;
    return {{begins | (head_above != 0u), select(begins, own, combined<W>(combine, above, own))},
            {head != 0u, Value<W>(sum)}};
  }

 private:
  /// Calls earlier(head, sum) with the values before (head, value) is appended.
  template <class Earlier>
  static void append(Var<std::uint32_t>& head, Var<W>& sum, const Value<std::uint32_t>& next_head,
                     const Value<W>& next, Combine combine, const Earlier& earlier) {
    const Value<std::uint32_t> begun = head;
    const Value<W> value = sum;
    earlier(begun, value);
    sum = select(next_head != 0u, next, combined<W>(combine, value, next));
    head = begun | next_head;
  }

  static constexpr std::int64_t each = 16, rows = group_size / each;
  Shared<std::uint32_t, std::size_t(group_size + rows)> heads_;
  Shared<W, std::size_t(group_size + rows)> values_;
  Shared<std::uint32_t, std::size_t(rows)> row_heads_;
  Shared<W, std::size_t(rows)> row_values_;
};

template <class T, class W = Word<T>>
using RunsKernel = void(View<const bool>, View<const T>, View<const std::int64_t>, View<T>, View<W>, View<W>,
                        Value<std::int64_t>);

/// lead[r]: the values of range r before its first head. last[r]: those from its last head on.
template <class T, class W = Word<T>>
const Kernel<RunsKernel<T>>& runs_kernel(Combine combine) {
  static auto& cache = *new KernelCache<RunsKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<RunsKernel<T>>(
        "reduce_by_key", with_constants([combine](View<const bool> heads, View<const T> values,
                                                  View<const std::int64_t> counts, View<T> result,
                                                  View<W> lead, View<W> last, Index size) {
          const Index n = values.size();
          group_for(groups(counts.size()), threads<group_size>, [&](Index g, Index t) {
            Tile<W> tile(t);
            GroupScan<std::int64_t> scan;
            RunScan<W> runs;
            const W neutral = identity<T>(combine);
            constexpr std::int64_t each = per_thread<W>;
            Var<std::int64_t> below = 0;
            for_(t, g, group_size, [&](Index i) { below += counts[i]; });
            const Index first = scan.sum(t, below).total;
            Var<std::int64_t> begun = first;  // runs of all tiles so far
            Var<W> open = neutral;            // the value of the last of them
            for_tiles<W>(g, size, n, [&](Index base) {
              tile.load(loaded<W>(t, base, n, W(0),
                                  [&](const Index& i) { return cast<W>(Value<bool>(heads[i])); }));
              barrier();
              std::vector<Value<bool>> head;
              Var<std::int64_t> count = 0;
              for (std::int64_t k = 0; k < each; ++k) {
                head.push_back(tile.own(k) != W(0));
                count += cast<std::int64_t>(head.back());
              }
              const Value<bool> begins = count != 0;
              const auto [runs_before, runs_here] = scan.sum(t, count);
              tile.load(loaded<W>(t, base, n, neutral,
                                  [&](const Index& i) { return cast<W>(Value<T>(values[i])); }));
              barrier();
              std::vector<Value<W>> value;
              Var<W> sum = neutral;
              const auto append = [&](std::size_t k) {
                const Value<W> so_far = sum;
                sum = select(head[k], value[k], combined<W>(combine, so_far, value[k]));
              };
              for (std::int64_t k = 0; k < each; ++k) {
                value.emplace_back(tile.own(k));
                append(std::size_t(k));
              }
              const auto [before, all] = runs(t, {begins, Value<W>(sum)}, combine);
              const Value<W> opened = open;
              sum = select(before.begins, before.value, combined<W>(combine, opened, before.value));
              Var<std::int64_t> run = begun + runs_before - 1;
              for (std::int64_t k = 0; k < each; ++k) {
                if_(head[std::size_t(k)], [&] {
                  if_(run < first, [&] { lead[g] = sum; }).else_([&] { result[run] = cast<T>(sum); });
                  run += 1;
                });
                append(std::size_t(k));
              }
              open = select(all.begins, all.value, combined<W>(combine, opened, all.value));
              begun += runs_here;
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
            GroupScan<std::int64_t> scan;
            RunScan<W> runs;
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
            const Value<bool> begins = below != 0;
            const auto [runs_before, all] = scan.sum(t, below);
            const auto [before, total] = runs(t, {begins, Value<W>(sum)}, combine);
            sum = before.value;
            below = runs_before;
            for (std::int64_t k = 0; k < each; ++k) {
              const Value<W> so_far = sum;
              const Index run = below;
              if_((count[std::size_t(k)] != 0) & (run > 0),
                  [&] { result[run - 1] = cast<T>(combined<W>(combine, so_far, leads[std::size_t(k)])); });
              below = run + count[std::size_t(k)];
              append(std::size_t(k));
            }
            if_(t == 0, [&] { result[all - 1] = cast<T>(total.value); });
          });
        }));
  });
}

template <class T, class W = Word<T>>
void reduce_by_groups(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                      const AnyArrayView& result_keys, const AnyArrayView& result_values,
                      const AnyArrayView& count, Combine combine) {
  const auto n = static_cast<std::int64_t>(keys.size());
  const Chunks ranges = selection_ranges(stream, keys);
  const Workspace memory(stream, {{element_type<bool>, n},
                                  {element_type<std::int64_t>, ranges.count},
                                  {element_type<W>, ranges.count},
                                  {element_type<W>, ranges.count}});
  const AnyArrayView heads = memory[0], counts = memory[1], lead = memory[2], last = memory[3];
  submit_heads(stream, keys, heads);
  submit_group_select(stream, keys, heads, result_keys, count, counts, ranges, false);
  runs_kernel<T>(combine)(stream, heads, values, counts, result_values, lead, last, ranges.size);
  join_kernel<T>(combine)(stream, counts, lead, last, result_values);
}

}  // namespace

void submit_group_reduce_by_key(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                                const AnyArrayView& result_keys, const AnyArrayView& result_values,
                                const AnyArrayView& count, Combine combine) {
  for_number_type(values.element().scalar, [&]<class T>(T) {
    if constexpr (std::integral<T>)
      reduce_by_groups<T>(stream, keys, values, result_keys, result_values, count, combine);
  });
}

}  // namespace weir::algorithms
