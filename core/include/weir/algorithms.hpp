// SPDX-License-Identifier: Apache-2.0
// Algorithms on arrays: reductions, scans, sorts, selections, histograms, sums by key, gather and scatter.
// sdk/docs/guides/algorithms.md explains them.
//
// Every function submits its work to a stream and returns without waiting, or records it in a graph. Scratch
// memory comes from the device's pool, in stream order; that of a graph lives as long as the graph. Results
// have the same bits on every driver and in every run. Numbers of results are written to an array of one
// element on the device.
//
// Threads: every function may be called from any thread, for one graph from one at a time. An algorithm is
// several launches, but one step of its stream: work that other threads submit runs before or after all of
// it. Errors: Error{invalid} if an array has a wrong size, was freed, is on another device, or shares memory
// with an array that must be separate. It names the function and the array, and nothing is submitted or
// recorded. Error{out_of_memory} if there is no scratch memory. A failure of earlier work on the stream is
// thrown as by launches.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <weir/array.hpp>

namespace weir {

class GraphBuilder;

namespace algorithms {
struct Targets;
}

/// Where an algorithm goes: a stream, or a graph that is being recorded. Runs of such a graph share its
/// scratch memory, so they must not overlap. For the duration of a call; it refers to its argument.
///
/// With `size`, an array of one element, as in `sort({stream, size}, keys)`, an algorithm processes the first
/// size[0] elements only: of all arrays that the function requires to have equal sizes, or of its only input.
/// A number below 0 means none, and one above the arrays' size means all. It is read on the device, when the
/// work before it is done. Results are those of slices of that size, with two exceptions: sort() and
/// sort_by_key() leave unspecified keys after those elements, and floats are combined by scans and
/// reduce_by_key() in the order for the whole arrays. `size` shares no memory with the other arrays.
class WEIR_API WorkTarget {
 public:
  WorkTarget(const StreamRef& stream) noexcept : stream_(&stream) {}
  WorkTarget(GraphBuilder& graph) noexcept : graph_(&graph) {}
  WorkTarget(const StreamRef& stream, const ArrayView<std::int64_t>& size) : stream_(&stream), size_(size) {}
  WorkTarget(GraphBuilder& graph, const ArrayView<std::int64_t>& size) : graph_(&graph), size_(size) {}

  Device device() const;
  const StreamRef* stream() const noexcept { return stream_; }
  GraphBuilder* graph() const noexcept { return graph_; }
  const std::optional<AnyArrayView>& size() const noexcept { return size_; }

 private:
  friend struct algorithms::Targets;
  const StreamRef* stream_ = nullptr;
  GraphBuilder* graph_ = nullptr;
  std::optional<AnyArrayView> size_;
  bool checks_only_ = false;
};

/// Combines elements: all of them, those of a scan, or those of equal keys. min and max ignore NaN, as
/// reduce_min does. The last three are for integers; others are refused with Error{invalid}.
enum class Combine : std::uint8_t { sum, min, max, bit_and, bit_or, bit_xor };

/// Equal keys keep their order in both directions.
enum class SortOrder : std::uint8_t { ascending, descending };

/// The number types of arithmetic: 8- to 64-bit integers, float, double.
template <class T>
concept KernelNumber = KernelScalar<T> && !std::same_as<T, bool> && !std::same_as<T, half>;

/// Such a number, or a Vec or Mat of them.
template <class T>
concept KernelNumbers = KernelElement<T> && element_type<T>.scalar != ScalarType::boolean &&
                        element_type<T>.scalar != ScalarType::f16;

/// Types of indices for gather and scatter.
template <class T>
concept KernelIndex = std::integral<T> && KernelScalar<T> && sizeof(T) >= 4;

namespace detail {
/// The same view, from which no template argument is deduced.
template <class T>
using Same = std::type_identity_t<ArrayView<T>>;

WEIR_API void reduce(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result,
                     Combine combine);
WEIR_API void arg_extreme(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
                          bool greatest);
WEIR_API void scan(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result,
                   Combine combine, bool inclusive);
WEIR_API void sort(const WorkTarget& target, const AnyArrayView& keys, SortOrder order);
WEIR_API void sort_by_key(const WorkTarget& target, const AnyArrayView& keys, const AnyArrayView& values,
                          SortOrder order);
WEIR_API void select(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& keep,
                     const AnyArrayView& result, const AnyArrayView& count, bool with_rest);
WEIR_API void unique(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& result,
                     const AnyArrayView& count);
WEIR_API void reduce_by_key(const WorkTarget& target, const AnyArrayView& keys, const AnyArrayView& values,
                            const AnyArrayView& result_keys, const AnyArrayView& result_values,
                            const AnyArrayView& count, Combine combine);
WEIR_API void histogram(const WorkTarget& target, const AnyArrayView& x, double low, double high,
                        const AnyArrayView& counts);
WEIR_API void gather(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
                     const AnyArrayView& result);
WEIR_API void scatter(const WorkTarget& target, const AnyArrayView& x, const AnyArrayView& index,
                      const AnyArrayView& result);
}  // namespace detail

/// result[0] becomes the combination of all elements, for Vec and Mat by component. The same bits as
/// reduce_sum and the other reductions of the kernel language. Of no elements, it is the identity: 0 for
/// sums, bit_or and bit_xor, all bits for bit_and, the largest value for min (infinity for floats), the
/// smallest for max. `result` shares no memory with `x`.
template <KernelNumbers T>
void reduce(const WorkTarget& target, const ArrayView<T>& x, const detail::Same<T>& result,
            Combine combine = Combine::sum) {
  detail::reduce(target, x, result, combine);
}

/// index[0] becomes the first index of the least element, or -1 if there is none. NaN is ignored, and -0
/// equals 0, as by arg_min of the kernel language. `index` shares no memory with `x`.
template <KernelNumber T>
void arg_min(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<std::int64_t>& index) {
  detail::arg_extreme(target, x, index, false);
}
/// The same for the greatest element.
template <KernelNumber T>
void arg_max(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<std::int64_t>& index) {
  detail::arg_extreme(target, x, index, true);
}

/// result[i] is the combination of x[0] to x[i]. `result` has the size of `x` and may be the same view.
/// Floats are combined in an order that depends on the size only; see the guide.
template <KernelNumber T>
void inclusive_scan(const WorkTarget& target, const ArrayView<T>& x, const detail::Same<T>& result,
                    Combine combine = Combine::sum) {
  detail::scan(target, x, result, combine, true);
}

/// result[i] is the combination of x[0] to x[i - 1]. result[0] is the identity, see reduce(). Otherwise as
/// inclusive_scan.
template <KernelNumber T>
void exclusive_scan(const WorkTarget& target, const ArrayView<T>& x, const detail::Same<T>& result,
                    Combine combine = Combine::sum) {
  detail::scan(target, x, result, combine, false);
}

/// Sorts in place, stably. Floats are ordered -infinity, ..., -0, +0, ..., infinity, NaN; all NaNs are equal,
/// and keep their bits. false is less than true. Needs scratch memory for as many keys.
template <KernelScalar T>
void sort(const WorkTarget& target, const ArrayView<T>& keys, SortOrder order = SortOrder::ascending) {
  detail::sort(target, keys, order);
}

/// Sorts the keys as sort() does, and moves values[i] with keys[i]. The arrays have equal sizes and share no
/// memory. Needs scratch memory for as many keys and values, and two indices for each.
template <KernelScalar K, KernelElement T>
void sort_by_key(const WorkTarget& target, const ArrayView<K>& keys, const ArrayView<T>& values,
                 SortOrder order = SortOrder::ascending) {
  detail::sort_by_key(target, keys, values, order);
}

/// Copies the elements of `x` where `keep` is true to the beginning of `result`, in order, and their number
/// to `count`. `keep` and `result` have the size of `x`; the rest of `result` does not change. `result`
/// shares no memory with `x` or `keep`.
template <KernelElement T>
void compact(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<bool>& keep,
             const detail::Same<T>& result, const ArrayView<std::int64_t>& count) {
  detail::select(target, x, keep, result, count, false);
}

/// As compact(); the elements where `first` is false follow the others, in order.
template <KernelElement T>
void partition(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<bool>& first,
               const detail::Same<T>& result, const ArrayView<std::int64_t>& count) {
  detail::select(target, x, first, result, count, true);
}

/// Copies the first of each run of equal elements to the beginning of `result`, in order, and their number to
/// `count`. -0 equals 0, and NaN equals nothing. `result` has the size of `x` and shares no memory with it.
template <KernelScalar T>
void unique(const WorkTarget& target, const ArrayView<T>& x, const detail::Same<T>& result,
            const ArrayView<std::int64_t>& count) {
  detail::unique(target, x, result, count);
}

/// Combines the values of each run of equal keys, which are equal as for unique(). Writes the first key of
/// each run to `result_keys`, the combined values to `result_values`, and the number of runs to `count`. All
/// other arrays have equal sizes, and results share no memory with one another or with the inputs. Floats are
/// combined in an order that depends on the keys and the size only; see the guide.
template <KernelScalar K, KernelNumber T>
void reduce_by_key(const WorkTarget& target, const ArrayView<K>& keys, const ArrayView<T>& values,
                   const detail::Same<K>& result_keys, const detail::Same<T>& result_values,
                   const ArrayView<std::int64_t>& count, Combine combine = Combine::sum) {
  detail::reduce_by_key(target, keys, values, result_keys, result_values, count, combine);
}

/// counts[b] becomes the number of elements in bin b of counts.size() equal bins of [low, high). The bin of x
/// is floor((double(x) - low) * (bins / (high - low))), computed in double. Larger numbers, which rounding
/// can cause, count in the last bin; integers of 64 bits are compared with low and high exactly. Elements
/// outside, and NaN, are not counted. Throws Error{invalid} unless low < high, and low, high, high - low and
/// bins / (high - low) are finite.
template <KernelNumber T>
void histogram(const WorkTarget& target, const ArrayView<T>& x, double low, double high,
               const ArrayView<std::int64_t>& counts) {
  detail::histogram(target, x, low, high, counts);
}

/// result[i] = x[index[i]]. `result` has the size of `index` and shares no memory with the others. An index
/// outside `x` fails the stream as an assert_ does.
template <KernelElement T, KernelIndex I>
void gather(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<I>& index,
            const detail::Same<T>& result) {
  detail::gather(target, x, index, result);
}

/// result[index[i]] = x[i]. `index` has the size of `x`, `result` any size; its other elements do not change.
/// It shares no memory with the others. Indices must differ: elements with equal indices race. An index
/// outside `result` fails the stream as an assert_ does.
template <KernelElement T, KernelIndex I>
void scatter(const WorkTarget& target, const ArrayView<T>& x, const ArrayView<I>& index,
             const detail::Same<T>& result) {
  detail::scatter(target, x, index, result);
}

}  // namespace weir
