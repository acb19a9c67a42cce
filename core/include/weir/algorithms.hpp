// SPDX-License-Identifier: Apache-2.0
// Algorithms on arrays: scans, sorts, selections, histograms, sums by key, gather and scatter.
// sdk/docs/guides/algorithms.md explains them.
//
// Every function submits its work to `stream` and returns without waiting. Scratch memory comes from the
// device's pool, in stream order. Results have the same bits on every driver and in every run. Numbers of
// results are written to an array of one element on the device.
//
// Threads: every function may be called from any thread. An algorithm is several launches, but one step of
// its stream: work that other threads submit runs before or after all of it. Errors: Error{invalid} if an
// array has a wrong size, was freed, is on another device, or shares memory with an array that must be
// separate. It names the function and the array, and nothing is submitted. Error{out_of_memory} if there is
// no scratch memory. A failure of earlier work on the stream is thrown as by launches.
#pragma once

#include <concepts>
#include <type_traits>
#include <weir/array.hpp>

namespace weir {

/// Combines the elements of a scan or of equal keys. min and max ignore NaN, as reduce_min does.
enum class Combine : std::uint8_t { sum, min, max };

/// Equal keys keep their order in both directions.
enum class SortOrder : std::uint8_t { ascending, descending };

/// The number types of arithmetic: 8- to 64-bit integers, float, double.
template <class T>
concept KernelNumber = KernelScalar<T> && !std::same_as<T, bool> && !std::same_as<T, half>;

/// Types of indices for gather and scatter.
template <class T>
concept KernelIndex = std::integral<T> && KernelScalar<T> && sizeof(T) >= 4;

namespace detail {
/// The same view, from which no template argument is deduced.
template <class T>
using Same = std::type_identity_t<ArrayView<T>>;

WEIR_API void scan(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result,
                   Combine combine, bool inclusive);
WEIR_API void sort(const StreamRef& stream, const AnyArrayView& keys, SortOrder order);
WEIR_API void sort_by_key(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                          SortOrder order);
WEIR_API void select(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& keep,
                     const AnyArrayView& result, const AnyArrayView& count, bool with_rest);
WEIR_API void unique(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result,
                     const AnyArrayView& count);
WEIR_API void reduce_by_key(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                            const AnyArrayView& result_keys, const AnyArrayView& result_values,
                            const AnyArrayView& count, Combine combine);
WEIR_API void histogram(const StreamRef& stream, const AnyArrayView& x, double low, double high,
                        const AnyArrayView& counts);
WEIR_API void gather(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& index,
                     const AnyArrayView& result);
WEIR_API void scatter(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& index,
                      const AnyArrayView& result);
}  // namespace detail

/// result[i] is the combination of x[0] to x[i]. `result` has the size of `x` and may be the same view.
/// Floats are combined in an order that depends on the size only; see the guide.
template <KernelNumber T>
void inclusive_scan(const StreamRef& stream, const ArrayView<T>& x, const detail::Same<T>& result,
                    Combine combine = Combine::sum) {
  detail::scan(stream, x, result, combine, true);
}

/// result[i] is the combination of x[0] to x[i - 1]. result[0] is the identity: 0 for sums, the largest value
/// for min (infinity for floats), the smallest for max. Otherwise as inclusive_scan.
template <KernelNumber T>
void exclusive_scan(const StreamRef& stream, const ArrayView<T>& x, const detail::Same<T>& result,
                    Combine combine = Combine::sum) {
  detail::scan(stream, x, result, combine, false);
}

/// Sorts in place, stably. Floats are ordered -infinity, ..., -0, +0, ..., infinity, NaN; all NaNs are equal,
/// and keep their bits. false is less than true. Needs scratch memory for as many keys.
template <KernelScalar T>
void sort(const StreamRef& stream, const ArrayView<T>& keys, SortOrder order = SortOrder::ascending) {
  detail::sort(stream, keys, order);
}

/// Sorts the keys as sort() does, and moves values[i] with keys[i]. The arrays have equal sizes and share no
/// memory. Needs scratch memory for as many keys and values, and two indices for each.
template <KernelScalar K, KernelElement T>
void sort_by_key(const StreamRef& stream, const ArrayView<K>& keys, const ArrayView<T>& values,
                 SortOrder order = SortOrder::ascending) {
  detail::sort_by_key(stream, keys, values, order);
}

/// Copies the elements of `x` where `keep` is true to the beginning of `result`, in order, and their number
/// to `count`. `keep` and `result` have the size of `x`; the rest of `result` does not change. `result`
/// shares no memory with `x` or `keep`.
template <KernelElement T>
void compact(const StreamRef& stream, const ArrayView<T>& x, const ArrayView<bool>& keep,
             const detail::Same<T>& result, const ArrayView<std::int64_t>& count) {
  detail::select(stream, x, keep, result, count, false);
}

/// As compact(); the elements where `first` is false follow the others, in order.
template <KernelElement T>
void partition(const StreamRef& stream, const ArrayView<T>& x, const ArrayView<bool>& first,
               const detail::Same<T>& result, const ArrayView<std::int64_t>& count) {
  detail::select(stream, x, first, result, count, true);
}

/// Copies the first of each run of equal elements to the beginning of `result`, in order, and their number to
/// `count`. -0 equals 0, and NaN equals nothing. `result` has the size of `x` and shares no memory with it.
template <KernelScalar T>
void unique(const StreamRef& stream, const ArrayView<T>& x, const detail::Same<T>& result,
            const ArrayView<std::int64_t>& count) {
  detail::unique(stream, x, result, count);
}

/// Combines the values of each run of equal keys, which are equal as for unique(). Writes the first key of
/// each run to `result_keys`, the combined values to `result_values`, and the number of runs to `count`. All
/// other arrays have equal sizes, and results share no memory with one another or with the inputs. Floats are
/// combined in an order that depends on the keys and the size only; see the guide.
template <KernelScalar K, KernelNumber T>
void reduce_by_key(const StreamRef& stream, const ArrayView<K>& keys, const ArrayView<T>& values,
                   const detail::Same<K>& result_keys, const detail::Same<T>& result_values,
                   const ArrayView<std::int64_t>& count, Combine combine = Combine::sum) {
  detail::reduce_by_key(stream, keys, values, result_keys, result_values, count, combine);
}

/// counts[b] becomes the number of elements in bin b of counts.size() equal bins of [low, high). The bin of x
/// is floor((double(x) - low) * (bins / (high - low))), computed in double. Larger numbers, which rounding
/// can cause, count in the last bin. Elements outside, and NaN, are not counted. Throws Error{invalid} unless
/// low < high, and low, high, high - low and bins / (high - low) are finite.
template <KernelNumber T>
void histogram(const StreamRef& stream, const ArrayView<T>& x, double low, double high,
               const ArrayView<std::int64_t>& counts) {
  detail::histogram(stream, x, low, high, counts);
}

/// result[i] = x[index[i]]. `result` has the size of `index` and shares no memory with the others. An index
/// outside `x` fails the stream as an assert_ does.
template <KernelElement T, KernelIndex I>
void gather(const StreamRef& stream, const ArrayView<T>& x, const ArrayView<I>& index,
            const detail::Same<T>& result) {
  detail::gather(stream, x, index, result);
}

/// result[index[i]] = x[i]. `index` has the size of `x`, `result` any size; its other elements do not change.
/// It shares no memory with the others. Indices must differ: elements with equal indices race. An index
/// outside `result` fails the stream as an assert_ does.
template <KernelElement T, KernelIndex I>
void scatter(const StreamRef& stream, const ArrayView<T>& x, const ArrayView<I>& index,
             const detail::Same<T>& result) {
  detail::scatter(stream, x, index, result);
}

}  // namespace weir
