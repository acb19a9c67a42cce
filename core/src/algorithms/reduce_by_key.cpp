// SPDX-License-Identifier: Apache-2.0
// Combines the values of equal keys. The form for CPUs, and for floats: each chunk combines the runs inside
// it. A run that continues in later chunks is completed from their combined leading values.
// group_reduce_by_key.cpp has that of groups.
#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::algorithms {
namespace {

template <class T>
using RunsKernel = void(View<const bool>, View<const T>, View<const std::int64_t>, View<T>, View<T>, View<T>,
                        Value<std::int64_t>, Value<std::int64_t>, Size);

/// lead[c]: the values of chunk c before its first head. last[c]: those from its last head on.
template <class T>
const Kernel<RunsKernel<T>>& runs_kernel(Combine combine) {
  static auto& cache = *new KernelCache<RunsKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<RunsKernel<T>>(
        "reduce_by_key", with_constants([combine](View<const bool> heads, View<const T> values,
                                                  View<const std::int64_t> runs, View<T> result, View<T> lead,
                                                  View<T> last, Index size, Index chunks, Size used) {
          range_for(chunks, [&](Index chunk) {
            const Index first = runs[chunk];
            Var<std::int64_t> run = first - 1;
            Var<T> sum = identity<T>(combine);
            for_chunk(chunk, size, elements_of(values.size(), used), [&](Index i) {
              const Value<bool> head = heads[i];
              if_(head, [&] {
                if_(run < first, [&] { lead[chunk] = sum; }).else_([&] { result[run] = sum; });
                run += 1;
                sum = identity<T>(combine);
              });
              const Value<T> next = values[i];
              sum = combined<T>(combine, sum, next);
            });
            if_(run < first, [&] { lead[chunk] = sum; }).else_([&] { last[chunk] = sum; });
          });
        }));
  });
}

template <class T>
using JoinKernel = void(View<const std::int64_t>, View<const T>, View<const T>, View<T>, Value<std::int64_t>);

template <class T>
const Kernel<JoinKernel<T>>& join_kernel(Combine combine) {
  static auto& cache = *new KernelCache<JoinKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<JoinKernel<T>>("reduce_by_key_join",
                                 with_constants([combine](View<const std::int64_t> runs, View<const T> lead,
                                                          View<const T> last, View<T> result, Index chunks) {
                                   range_for(chunks, [&](Index chunk) {
                                     const Index next_run = runs[chunk + 1];
                                     if_(runs[chunk] < next_run, [&] {
                                       Var<T> sum = last[chunk];
                                       for_(chunk + 1, chunks, [&](Index next) {
                                         sum = combined<T>(combine, sum, Value<T>(lead[next]));
                                         if_(runs[next] < runs[next + 1], [&] { break_(); });
                                       });
                                       result[next_run - 1] = sum;
                                     });
                                   });
                                 }));
  });
}

template <class T>
void combine_runs(const Steps& steps, const AnyArrayView& heads, const AnyArrayView& values,
                  const AnyArrayView& runs, const AnyArrayView& result, Combine combine,
                  const Chunks& chunks) {
  const AnyArrayView lead = steps.scratch(element_type<T>, chunks.count);
  const AnyArrayView last = steps.scratch(element_type<T>, chunks.count);
  steps.launch(runs_kernel<T>(combine), heads, values, runs, result, lead, last, chunks.size, chunks.count,
               steps.size(values));
  steps.launch(join_kernel<T>(combine), runs, lead, last, result, chunks.count);
}

}  // namespace
}  // namespace weir::algorithms

namespace weir::detail {

void reduce_by_key(const WorkTarget& target, const AnyArrayView& keys, const AnyArrayView& values,
                   const AnyArrayView& result_keys, const AnyArrayView& result_values,
                   const AnyArrayView& count, Combine combine) try {
  constexpr const char* function = "reduce_by_key";
  const algorithms::Named inputs[] = {{"keys", keys}, {"values", values}};
  const algorithms::Named results[] = {{"result_keys", result_keys}, {"result_values", result_values}};
  const algorithms::Named number{"count", count};
  algorithms::expect_usable(function, target, {inputs[0], inputs[1], results[0], results[1], number});
  algorithms::expect_equal_size(function, inputs[1], inputs[0]);
  for (const auto& result : results) {
    algorithms::expect_equal_size(function, result, inputs[0]);
    for (const auto& input : inputs) algorithms::expect_apart(function, result, input);
    algorithms::expect_apart(function, number, result);
  }
  algorithms::expect_apart(function, results[1], results[0]);
  for (const auto& input : inputs) algorithms::expect_apart(function, number, input);
  algorithms::expect_one_element(function, number);
  algorithms::expect_combinable(function, inputs[1], combine);
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    if (keys.empty()) return steps.fill_zero(count);
    if (algorithms::uses_groups(steps.device()) && !is_float(values.element().scalar))
      return algorithms::submit_group_reduce_by_key(steps, keys, values, result_keys, result_values, count,
                                                    combine);
    const algorithms::Chunks chunks = algorithms::fixed_chunks(keys.size());
    const AnyArrayView heads = steps.scratch(element_type<bool>, static_cast<std::int64_t>(keys.size()));
    algorithms::submit_heads(steps, keys, heads);
    const AnyArrayView runs =
        algorithms::submit_select(steps, keys, heads, result_keys, count, false, chunks);
    algorithms::for_number_type(values.element().scalar, [&]<class T>(T) {
      algorithms::combine_runs<T>(steps, heads, values, runs, result_values, combine, chunks);
    });
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
