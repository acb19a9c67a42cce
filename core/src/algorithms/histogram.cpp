// SPDX-License-Identifier: Apache-2.0
// Histograms. Each chunk counts into bins of its own, whose sums are the result. Many bins are counted with
// atomics instead, which then rarely meet.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "algorithms/arguments.hpp"
#include "algorithms/kernels.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::algorithms {
namespace {

constexpr std::uint64_t most_own_bins = 4096;
constexpr std::uint64_t most_counts = std::uint64_t{1} << 22;  // of all chunks, 32 MiB

/// Calls action(bin) if `x` is inside the range.
template <class T, class Action>
void with_bin(const Value<T>& x, const Value<double>& low, const Value<double>& high, const Index& bins,
              const Action& action) {
  const Value<double> wide = cast<double>(x);
  if_((wide >= low) & (wide < high), [&] {
    const Value<double> scale = cast<double>(bins) / (high - low);
    const Index bin = cast<std::int64_t>((wide - low) * scale);
    action(min(bin, bins - 1));  // rounding may give `bins`
  });
}

template <class T>
using HistogramKernel = void(View<const T>, View<std::int64_t>, Value<double>, Value<double>,
                             Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>);

template <class T>
const Kernel<HistogramKernel<T>>& own_bins_kernel() {
  static const auto& kernel = *new Kernel<HistogramKernel<T>>(
      "histogram", [](View<const T> x, View<std::int64_t> counts, Value<double> low, Value<double> high,
                      Index bins, Index size, Index chunks) {
        range_for(chunks, [&](Index chunk) {
          for_chunk(chunk, size, x.size(), [&](Index i) {
            with_bin<T>(x[i], low, high, bins, [&](const Index& bin) { counts[chunk * bins + bin] += 1; });
          });
        });
      });
  return kernel;
}

template <class T>
const Kernel<void(View<const T>, View<std::int64_t>, Value<double>, Value<double>)>& atomic_kernel() {
  using Signature = void(View<const T>, View<std::int64_t>, Value<double>, Value<double>);
  static const auto& kernel = *new Kernel<Signature>(
      "histogram", [](View<const T> x, View<std::int64_t> counts, Value<double> low, Value<double> high) {
        const Index bins = counts.size();
        range_for(x.size(), [&](Index i) {
          with_bin<T>(x[i], low, high, bins, [&](const Index& bin) { atomic_add(counts[bin], 1); });
        });
      });
  return kernel;
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
void count_bins(const StreamRef& stream, const AnyArrayView& x, double low, double high,
                const AnyArrayView& counts) {
  if (counts.size() > most_own_bins) {
    counts.fill_zero(stream);
    return atomic_kernel<T>()(stream, x, counts, low, high);
  }
  const auto bins = static_cast<std::int64_t>(counts.size());
  const Chunks chunks = device_chunks(stream.device(), x.size(), most_counts / counts.size());
  const AnyArray own = scratch(stream, counts.element(), chunks.count * bins);
  own.fill_zero(stream);
  own_bins_kernel<T>()(stream, x, own, low, high, bins, chunks.size, chunks.count);
  add_bins_kernel()(stream, own, counts, chunks.count);
}

}  // namespace
}  // namespace weir::algorithms

namespace weir::detail {

void histogram(const StreamRef& stream, const AnyArrayView& x, double low, double high,
               const AnyArrayView& counts) try {
  algorithms::expect_usable("histogram", stream, {{"x", x}, {"counts", counts}});
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
  if (counts.empty()) return;
  const SubmissionSequence one_step(live(stream));
  if (x.empty()) return counts.fill_zero(stream);
  algorithms::for_number_type(x.element().scalar,
                              [&]<class T>(T) { algorithms::count_bins<T>(stream, x, low, high, counts); });
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
