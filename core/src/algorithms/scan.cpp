// SPDX-License-Identifier: Apache-2.0
// Scans. The form for CPUs, and for floats: the combination of each chunk, an exclusive scan of these, and
// each chunk from its start value. The form of groups, for integers: the combination of each range, and each
// range from the combination of those before it.
#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::algorithms {
namespace {

template <class T>
using ChunkKernel = void(View<const T>, View<T>, Value<std::int64_t>, Value<std::int64_t>);

template <class T>
const Kernel<ChunkKernel<T>>& sums_kernel(Combine combine) {
  static auto& cache = *new KernelCache<ChunkKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<ChunkKernel<T>>(
        "scan_chunks", with_constants([combine](View<const T> x, View<T> sums, Index size, Index chunks) {
          range_for(chunks, [&](Index chunk) {
            Var<T> sum = identity<T>(combine);
            for_chunk(chunk, size, x.size(), [&](Index i) {
              const Value<T> next = x[i];
              sum = combined<T>(combine, sum, next);
            });
            sums[chunk] = sum;
          });
        }));
  });
}

template <class T>
using ScanKernel = void(View<const T>, View<const T>, View<T>, Value<std::int64_t>, Value<std::int64_t>);

/// `carried`: the chunks start from `starts`, otherwise from the identity.
template <class T>
const Kernel<ScanKernel<T>>& scan_kernel(Combine combine, bool inclusive, bool carried) {
  static auto& cache = *new KernelCache<ScanKernel<T>>;
  const std::uint32_t variant = static_cast<std::uint32_t>(combine) * 4 + inclusive * 2u + carried;
  return cache.get(variant, [&] {
    return Kernel<ScanKernel<T>>(
        inclusive ? "inclusive_scan" : "exclusive_scan",
        with_constants([=](View<const T> x, View<const T> starts, View<T> result, Index size, Index chunks) {
          range_for(chunks, [&](Index chunk) {
            Var<T> sum = identity<T>(combine);
            if (carried) sum = starts[chunk];
            for_chunk(chunk, size, x.size(), [&](Index i) {
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
void scan_of(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
             bool inclusive) {
  const Chunks chunks = fixed_chunks(x.size());
  if (chunks.count < 2) {
    scan_kernel<T>(combine, inclusive, false)(stream, x, x, result, chunks.size, chunks.count);
    return;
  }
  const AnyArray sums = scratch(stream, element_type<T>, chunks.count);
  sums_kernel<T>(combine)(stream, x, sums, chunks.size, chunks.count);
  scan_of<T>(stream, sums, sums, combine, false);
  scan_kernel<T>(combine, inclusive, true)(stream, x, sums, result, chunks.size, chunks.count);
}

// ---- of groups

template <class T, class W = Word<T>>
using RangeKernel = void(View<const T>, View<W>, Value<std::int64_t>);

template <class T, class W = Word<T>>
const Kernel<RangeKernel<T>>& range_kernel(Combine combine) {
  static auto& cache = *new KernelCache<RangeKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<RangeKernel<T>>(
        "scan_ranges", with_constants([combine](View<const T> x, View<W> sums, Index size) {
          const Index n = x.size();
          group_for(groups(sums.size()), threads<group_size>, [&](Index g, Index t) {
            GroupScan<W> scan;
            const W neutral = identity<T>(combine);
            const auto element = [&](const Index& i) { return cast<W>(Value<T>(x[i])); };
            Var<W> sum = neutral;
            for_tiles<W>(g, size, n, [&](Index base) {
              for (const Value<W>& next : loaded(strided(t, base, per_thread<W>), n, neutral, element))
                sum = combined<W>(combine, sum, next);
            });
            const Value<W> total = scan(t, sum, neutral, [&](const Value<W>& a, const Value<W>& b) {
                                     return combined<W>(combine, a, b);
                                   }).total;
            if_(t == 0, [&] { sums[g] = total; });
          });
        }));
  });
}

template <class T, class W = Word<T>>
using GroupScanKernel = void(View<const T>, View<const W>, View<T>, Value<std::int64_t>);

template <class T, class W = Word<T>>
const Kernel<GroupScanKernel<T>>& group_scan_kernel(Combine combine, bool inclusive) {
  static auto& cache = *new KernelCache<GroupScanKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine) * 2 + inclusive, [&] {
    return Kernel<GroupScanKernel<T>>(
        inclusive ? "inclusive_scan" : "exclusive_scan",
        with_constants([=](View<const T> x, View<const W> sums, View<T> result, Index size) {
          const Index n = x.size();
          group_for(groups(sums.size()), threads<group_size>, [&](Index g, Index t) {
            GroupScan<W> scan;
            const W neutral = identity<T>(combine);
            const auto both = [&](const Value<W>& a, const Value<W>& b) {
              return combined<W>(combine, a, b);
            };
            Var<W> sum = neutral;
            for_(t, g, group_size, [&](Index i) {
              const Value<W> next = sums[i];
              sum = both(sum, next);
            });
            Var<W> start = scan(t, sum, neutral, both).total;
            // With more elements per thread, fewer threads fit into a GPU's registers than hide the loads.
            constexpr std::int64_t each = 8, tile = each * group_size;
            for_tiles_of(tile, g, size, n, [&](Index base) {
              const Elements of_tile = in_fours(t, base, each);
              const std::vector<Value<W>> values =
                  loaded(of_tile, n, neutral, [&](const Index& i) { return cast<W>(Value<T>(x[i])); });
              // Inclusive scans of each four, and exclusive ones of the fours of the sub-group.
              std::vector<Value<W>> here, above;
              Var<W> of_row = neutral;
              for (std::int64_t k = 0; k < each; ++k) {
                const Value<W> own = values[std::size_t(k)];
                here.push_back(k % four ? both(here.back(), own) : own);
                if (k % four != four - 1) continue;
                const Value<W> up_to_here = subgroup_scan<row>(here.back(), both), so_far = of_row;
                const Value<W> lower = shuffle_up<row>(up_to_here, 1);
                above.push_back(both(so_far, select(lane<row>() == 0, Value<W>(neutral), lower)));
                of_row = both(so_far, shuffle<row>(up_to_here, int(row) - 1));
              }
              const auto [before, total] = scan.of_rows(t, of_row, neutral, both, base / tile % 2);
              const Value<W> first = both(start, before);
              start = both(start, total);
              std::vector<Value<W>> scanned;
              for (std::int64_t k = 0; k < each; ++k) {
                const Value<W> lower = both(first, above[std::size_t(k / four)]);
                scanned.push_back(inclusive       ? both(lower, here[std::size_t(k)])
                                  : k % four == 0 ? lower
                                                  : both(lower, here[std::size_t(k - 1)]));
              }
              for_each_of(of_tile, n, [&](std::int64_t k, const Index& i) {
                result[i] = cast<T>(scanned[std::size_t(k)]);
              });
            });
          });
        }));
  });
}

template <class T>
void group_scan_of(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result,
                   Combine combine, bool inclusive) {
  const Chunks ranges = group_ranges(stream.device(), x.size(), tile_size<Word<T>>);
  const AnyArray sums = scratch(stream, element_type<Word<T>>, ranges.count);
  if (ranges.count > 1) range_kernel<T>(combine)(stream, x, sums, ranges.size);
  group_scan_kernel<T>(combine, inclusive)(stream, x, sums, result, ranges.size);
}

}  // namespace

void submit_scan(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                 bool inclusive) {
  if (x.empty()) return;
  const bool by_groups = uses_groups(stream.device());
  for_number_type(x.element().scalar, [&]<class T>(T) {
    if constexpr (std::integral<T>)
      if (by_groups) return group_scan_of<T>(stream, x, result, combine, inclusive);
    scan_of<T>(stream, x, result, combine, inclusive);
  });
}

}  // namespace weir::algorithms

namespace weir::detail {

void scan(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
          bool inclusive) try {
  const char* function = inclusive ? "inclusive_scan" : "exclusive_scan";
  algorithms::expect_usable(function, stream, {{"x", x}, {"result", result}});
  algorithms::expect_equal_size(function, {"result", result}, {"x", x});
  if (x.block() != result.block() || x.offset() != result.offset())
    algorithms::expect_apart(function, {"result", result}, {"x", x});
  const SubmissionSequence one_step(live(stream));
  algorithms::submit_scan(stream, x, result, combine, inclusive);
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
