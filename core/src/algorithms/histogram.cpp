// SPDX-License-Identifier: Apache-2.0
// Histograms. On CPUs each chunk counts into bins of its own, whose sums are the result. Groups count into
// bins in shared memory, which they add to the result. Many bins are counted with atomics instead, which then
// rarely meet.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/groups.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/workspace.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::algorithms {
namespace {

constexpr std::uint64_t max_own_bins = 4096;
constexpr std::uint64_t max_counts = std::uint64_t{1} << 22;  // of all chunks, 32 MiB

/// Whether `x`, which is `wide` when rounded to a double, is in [low, high). Rounding may bring an integer of
/// 64 bits to a bound that it has not reached.
template <class T>
Value<bool> is_inside(const Value<T>& x, const Value<double>& wide, const Value<double>& low,
                      const Value<double>& high) {
  if constexpr (!std::integral<T> || sizeof(T) < 8) {
    return (wide >= low) & (wide < high);
  } else {
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);  // above every T
    // cast saturates.
    return (x >= cast<T>(ceil(low))) & (low < limit) & ((x < cast<T>(ceil(high))) | (high >= limit));
  }
}

/// Calls action(bin) if `x` is inside the range.
template <class T, class Action>
void with_bin(const Value<T>& x, const Value<double>& low, const Value<double>& high, const Index& bins,
              const Action& action) {
  const Value<double> wide = cast<double>(x);
  if_(is_inside(x, wide, low, high), [&] {
    const Value<double> scale = cast<double>(bins) / (high - low);
    const Index bin = cast<std::int64_t>((wide - low) * scale);
    action(min(bin, bins - 1));  // rounding may give `bins`
  });
}

template <class T>
using HistogramKernel = void(View<const T>, View<std::int64_t>, Value<double>, Value<double>,
                             Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>, Size);

template <class T>
const Kernel<HistogramKernel<T>>& own_bins_kernel() {
  static const auto& kernel = *new Kernel<HistogramKernel<T>>(
      "histogram", [](View<const T> x, View<std::int64_t> counts, Value<double> low, Value<double> high,
                      Index bins, Index size, Index chunks, Size used) {
        range_for(chunks, [&](Index chunk) {
          for_chunk(chunk, size, elements_of(x.size(), used), [&](Index i) {
            with_bin<T>(x[i], low, high, bins, [&](const Index& bin) { counts[chunk * bins + bin] += 1; });
          });
        });
      });
  return kernel;
}

template <class T>
using AtomicKernel = void(View<const T>, View<std::int64_t>, Value<double>, Value<double>, Size);

template <class T>
const Kernel<AtomicKernel<T>>& atomic_kernel(bool sized) {
  static auto& cache = *new KernelCache<AtomicKernel<T>>;
  return cache.get(sized, [&] {
    return Kernel<AtomicKernel<T>>(
        "histogram", with_constants([sized](View<const T> x, View<std::int64_t> counts, Value<double> low,
                                            Value<double> high, Size used) {
          const Index bins = counts.size();
          range_for(sized ? at_most(x.size(), used) : x.size(), [&](Index i) {
            with_bin<T>(x[i], low, high, bins, [&](const Index& bin) { atomic_add(counts[bin], 1); });
          });
        }));
  });
}

const Kernel<void(View<const std::int64_t>, View<std::int64_t>, Value<std::int64_t>)>& add_bins_kernel() {
  static const auto& kernel =
      *new Kernel("histogram_sum", [](View<const std::int64_t> own, View<std::int64_t> counts, Index chunks) {
        const Index bins = counts.size();
        range_for(bins, [&](Index bin) {
          counts[bin] = reduce_sum(chunks, [&](Index chunk) { return own[chunk * bins + bin]; });
        });
      });
  return kernel;
}

template <class T>
using GroupHistogramKernel = void(View<const T>, View<std::int64_t>, Value<double>, Value<double>,
                                  Value<std::int64_t>, Size);

/// At most `max_bins` bins.
template <class T, std::size_t max_bins>
const Kernel<GroupHistogramKernel<T>>& group_kernel() {
  static const auto& kernel = *new Kernel<GroupHistogramKernel<T>>(
      "histogram", [](View<const T> x, View<std::int64_t> counts, Value<double> low, Value<double> high,
                      Index size, Size used) {
        const Index bins = counts.size();
        group_for(groups((x.size() + size - 1) / size), threads<group_size>, [&](Index g, Index t) {
          const Index n = elements_of(x.size(), used);
          Shared<std::uint32_t, max_bins> own;
          for_(t, bins, group_size, [&](Index bin) { own[bin] = 0u; });
          barrier();
          for_tiles<std::uint32_t>(g, size, n, [&](Index base) {
            const Elements of_tile = strided(t, base, per_thread<std::uint32_t>);
            const std::vector<Value<T>> values =
                loaded(of_tile, n, T(0), [&](const Index& i) { return x[i]; });
            for_each_of(of_tile, n, [&](std::int64_t k, const Index&) {
              with_bin<T>(values[std::size_t(k)], low, high, bins,
                          [&](const Index& bin) { atomic_add(own[bin], 1u); });
            });
          });
          barrier();
          for_(t, bins, group_size, [&](Index bin) {
            const Value<std::uint32_t> count = own[bin];
            if_(count != 0u, [&] { atomic_add(counts[bin], cast<std::int64_t>(count)); });
          });
        });
      });
  return kernel;
}

constexpr std::size_t few_bins = 1024, max_shared_bins = max_group_bytes / sizeof(std::uint32_t);

/// A group counts at least four elements for each bin that it adds to the result.
template <class T>
void count_by_groups(const Steps& steps, const AnyArrayView& x, double low, double high,
                     const AnyArrayView& counts) {
  constexpr std::int64_t tile = tile_size<std::uint32_t>;
  const auto bins = static_cast<std::int64_t>(counts.size());
  const Chunks ranges = group_ranges(steps.device(), x.size(), tile * ((4 * bins + tile - 1) / tile));
  const auto& kernel =
      counts.size() <= few_bins ? group_kernel<T, few_bins>() : group_kernel<T, max_shared_bins>();
  steps.fill_zero(counts);
  steps.launch(kernel, x, counts, low, high, ranges.size, steps.size(x));
}

template <class T>
void count_bins(const Steps& steps, const AnyArrayView& x, double low, double high,
                const AnyArrayView& counts) {
  const bool by_groups = uses_groups(steps.device());
  const AnyArrayView used = steps.size(x);
  if (by_groups && counts.size() <= max_shared_bins) return count_by_groups<T>(steps, x, low, high, counts);
  if (by_groups || counts.size() > max_own_bins) {
    steps.fill_zero(counts);
    return steps.launch(atomic_kernel<T>(!used.empty()), x, counts, low, high, used);
  }
  const auto bins = static_cast<std::int64_t>(counts.size());
  const Chunks chunks = device_chunks(steps.device(), x.size(), max_counts / counts.size());
  const AnyArrayView own = steps.scratch(counts.element(), chunks.count * bins);
  steps.fill_zero(own);
  steps.launch(own_bins_kernel<T>(), x, own, low, high, bins, chunks.size, chunks.count, used);
  steps.launch(add_bins_kernel(), own, counts, chunks.count);
}

}  // namespace
}  // namespace weir::algorithms

namespace weir::detail {

void histogram(const WorkTarget& target, const AnyArrayView& x, double low, double high,
               const AnyArrayView& counts) try {
  algorithms::expect_usable("histogram", target, {{"x", x}, {"counts", counts}});
  algorithms::expect_apart("histogram", {"counts", counts}, {"x", x});
  if (!std::isfinite(low) || !std::isfinite(high) || !(low < high))
    throw Error(
        ErrorCode::invalid,
        fmt::format("histogram: the range needs finite bounds, the lower first, but is [{}, {}); pass the "
                    "least value and one above the greatest",
                    low, high));
  if (!std::isfinite(high - low))
    throw Error(
        ErrorCode::invalid,
        fmt::format("histogram: the length of the range [{}, {}) must be a finite double; pass a range "
                    "of at most {}",
                    low, high, std::numeric_limits<double>::max()));
  if (!std::isfinite(static_cast<double>(counts.size()) / (high - low)))
    throw Error(
        ErrorCode::invalid,
        fmt::format("histogram: the range [{}, {}) is too short for {} bins, whose number for a length of "
                    "1 must be a finite double; pass a longer range or fewer bins",
                    low, high, counts.size()));
  if (counts.empty()) return;
  algorithms::as_one_step(target, [&](const algorithms::Steps& steps) {
    if (x.empty()) return steps.fill_zero(counts);
    algorithms::for_number_type(x.element().scalar,
                                [&]<class T>(T) { algorithms::count_bins<T>(steps, x, low, high, counts); });
  });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
