// SPDX-License-Identifier: Apache-2.0
// Scans. The form for CPUs, and for floats: the combination of each chunk, an exclusive scan of these, and
// each chunk from its start value. Integers on GPUs have the forms of group_scan.cpp.
#include <fmt/format.h>

#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::algorithms {
namespace {

template <class T>
using ChunkKernel = void(View<const T>, View<T>, Value<std::int64_t>, Value<std::int64_t>, Size);

template <class T>
const Kernel<ChunkKernel<T>>& sums_kernel(Combine combine) {
  static auto& cache = *new KernelCache<ChunkKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<ChunkKernel<T>>(
        "scan_chunks",
        with_constants([combine](View<const T> x, View<T> sums, Index size, Index chunks, Size used) {
          range_for(chunks, [&](Index chunk) {
            Var<T> sum = identity<T>(combine);
            for_chunk(chunk, size, elements_of(x.size(), used), [&](Index i) {
              const Value<T> next = x[i];
              sum = combined<T>(combine, sum, next);
            });
            sums[chunk] = sum;
          });
        }));
  });
}

template <class T>
using ScanKernel = void(View<const T>, View<const T>, View<T>, Value<std::int64_t>, Value<std::int64_t>,
                        Size);

/// `carried`: the chunks start from `starts`, otherwise from the identity.
template <class T>
const Kernel<ScanKernel<T>>& scan_kernel(Combine combine, bool inclusive, bool carried) {
  static auto& cache = *new KernelCache<ScanKernel<T>>;
  const std::uint32_t variant = static_cast<std::uint32_t>(combine) * 4 + inclusive * 2u + carried;
  return cache.get(variant, [&] {
    return Kernel<ScanKernel<T>>(
        inclusive ? "inclusive_scan" : "exclusive_scan",
        with_constants([=](View<const T> x, View<const T> starts, View<T> result, Index size, Index chunks,
                           Size used) {
          range_for(chunks, [&](Index chunk) {
            Var<T> sum = identity<T>(combine);
            if (carried) sum = starts[chunk];
            for_chunk(chunk, size, elements_of(x.size(), used), [&](Index i) {
              const Value<T> before = sum, next = x[i];
              const Value<T> after = combined<T>(combine, before, next);
              result[i] = inclusive ? after : before;
              sum = after;
            });
          });
        }));
  });
}

template <class T>
void scan_of(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
             bool inclusive, const AnyArrayView& used) {
  const Chunks chunks = fixed_chunks(x.size());
  if (chunks.count < 2) {
    steps.launch(scan_kernel<T>(combine, inclusive, false), x, x, result, chunks.size, chunks.count, used);
    return;
  }
  const AnyArrayView sums = steps.scratch(element_type<T>, chunks.count);
  steps.launch(sums_kernel<T>(combine), x, sums, chunks.size, chunks.count, used);
  scan_of<T>(steps, sums, sums, combine, false, no_elements(sums));
  steps.launch(scan_kernel<T>(combine, inclusive, true), x, sums, result, chunks.size, chunks.count, used);
}

}  // namespace

void submit_scan(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                 bool inclusive, const AnyArrayView& used) {
  if (x.empty()) return;
  const bool by_groups = uses_groups(steps.device());
  for_number_type(x.element().scalar, [&]<class T>(T) {
    if constexpr (std::integral<T>)
      if (by_groups) return submit_group_scan(steps, x, result, combine, inclusive, used);
    scan_of<T>(steps, x, result, combine, inclusive, used);
  });
}

}  // namespace weir::algorithms

namespace weir::detail {

void scan(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
          bool inclusive) try {
  const char* function = inclusive ? "inclusive_scan" : "exclusive_scan";
  algorithms::expect_usable(function, target, {{"x", x}, {"result", result}});
  algorithms::expect_equal_size(function, {"result", result}, {"x", x});
  algorithms::expect_combinable(function, {"x", x}, combine);
  if (overlap(result, x) && !coincide(result, x))
    throw Error(
        ErrorCode::invalid,
        fmt::format("{}: 'result' is expected to be 'x' itself or to share no memory with it, but shares "
                    "a part of it; write to another array",
                    function));
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    algorithms::submit_scan(steps, x, result, combine, inclusive, steps.size(x));
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
