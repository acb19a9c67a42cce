// SPDX-License-Identifier: Apache-2.0
// Algorithms as statements of a kernel: the functions of <weir/algorithms.hpp>, with View parameters of the
// kernel instead of arrays, and without the stream. They process whole arrays at their place in the kernel:
// after the loops before them, and before those after them. Each needs what the function needs. The launch
// checks the arrays first, and throws what the function throws, with the kernel's name and the line. Each
// part between two algorithms is a launch of its own for LaunchMode and StreamRef::last_launch(). They belong
// directly in the kernel or in a stream block, outside of loops and branches. The stream blocks of a region
// that contains one run one after the other.
//
// `size`, a View<std::int64_t> with one element, is the number of elements to process: that of
// WorkTarget::size(). An array may have any number of dimensions; its elements are processed in row-major
// order.
//
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <type_traits>
#include <weir/algorithms.hpp>
#include <weir/dsl/view.hpp>

namespace weir {

/// A number of elements that the device knows. Made from View<std::int64_t> or View<const std::int64_t> of
/// any rank; none by default.
class ElementCount {
 public:
  ElementCount() = default;
  template <std::size_t Rank>
  ElementCount(const View<std::int64_t, Rank>& size) : array_(detail::array_of(size)), given_(true) {}
  template <std::size_t Rank>
  ElementCount(const View<const std::int64_t, Rank>& size) : array_(detail::array_of(size)), given_(true) {}

  const detail::ParameterOfTrace* array() const noexcept { return given_ ? &array_ : nullptr; }

 private:
  detail::ParameterOfTrace array_;
  bool given_ = false;
};

namespace detail {

/// What a statement does; `name` and `choice` are words of the IR, such as "sort" and "ascending".
struct AlgorithmSource {
  std::string_view name;
  std::string_view choice = {};
  double low = 0, high = 0;
};
WEIR_API void emit_algorithm(const AlgorithmSource& source, const ParameterOfTrace* arrays, std::size_t count,
                             const ParameterOfTrace* size, Where where);

inline std::string_view word_of(Combine combine) noexcept {
  constexpr std::string_view words[] = {"sum", "min", "max", "and", "or", "xor"};
  return words[static_cast<std::size_t>(combine)];
}
inline std::string_view word_of(SortOrder order) noexcept {
  return order == SortOrder::ascending ? "ascending" : "descending";
}

template <class... V>
void trace_algorithm(const AlgorithmSource& source, const ElementCount& size, Where where,
                     const V&... arrays) {
  const ParameterOfTrace list[] = {array_of(arrays)...};
  emit_algorithm(source, list, sizeof...(V), size.array(), where);
}

// Elements of a View that an algorithm may only read.
template <class T>
concept ViewedElement = KernelElement<std::remove_const_t<T>>;
template <class T>
concept ViewedScalar = KernelScalar<std::remove_const_t<T>>;
template <class T>
concept ViewedNumber = KernelNumber<std::remove_const_t<T>>;
template <class T>
concept ViewedNumbers = KernelNumbers<std::remove_const_t<T>>;
template <class T>
concept ViewedIndex = KernelIndex<std::remove_const_t<T>>;
template <class T>
concept ViewedFlag = std::is_same_v < std::remove_const_t<T>,
bool > ;

/// The View to which the elements of a View<T> are written.
template <class T, std::size_t Rank>
using ResultView = View<std::remove_const_t<T>, Rank>;

}  // namespace detail

template <detail::ViewedNumbers T, std::size_t N, std::size_t R>
void reduce(const View<T, N>& x, const detail::ResultView<T, R>& result, Combine combine = Combine::sum,
            const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"reduce", detail::word_of(combine)}, size, where, x, result);
}

template <detail::ViewedNumber T, std::size_t N, std::size_t R>
void arg_min(const View<T, N>& x, const View<std::int64_t, R>& index, const ElementCount& size = {},
             detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"arg_min"}, size, where, x, index);
}
template <detail::ViewedNumber T, std::size_t N, std::size_t R>
void arg_max(const View<T, N>& x, const View<std::int64_t, R>& index, const ElementCount& size = {},
             detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"arg_max"}, size, where, x, index);
}

template <detail::ViewedNumber T, std::size_t N, std::size_t R>
void inclusive_scan(const View<T, N>& x, const detail::ResultView<T, R>& result,
                    Combine combine = Combine::sum, const ElementCount& size = {},
                    detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"inclusive_scan", detail::word_of(combine)}, size, where, x, result);
}
template <detail::ViewedNumber T, std::size_t N, std::size_t R>
void exclusive_scan(const View<T, N>& x, const detail::ResultView<T, R>& result,
                    Combine combine = Combine::sum, const ElementCount& size = {},
                    detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"exclusive_scan", detail::word_of(combine)}, size, where, x, result);
}

template <KernelScalar T, std::size_t N>
void sort(const View<T, N>& keys, SortOrder order = SortOrder::ascending, const ElementCount& size = {},
          detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"sort", detail::word_of(order)}, size, where, keys);
}
template <KernelScalar K, KernelElement T, std::size_t N, std::size_t R>
void sort_by_key(const View<K, N>& keys, const View<T, R>& values, SortOrder order = SortOrder::ascending,
                 const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"sort_by_key", detail::word_of(order)}, size, where, keys, values);
}

template <detail::ViewedElement T, detail::ViewedFlag B, std::size_t N, std::size_t M, std::size_t R,
          std::size_t C>
void compact(const View<T, N>& x, const View<B, M>& keep, const detail::ResultView<T, R>& result,
             const View<std::int64_t, C>& count, const ElementCount& size = {},
             detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"compact"}, size, where, x, keep, result, count);
}
template <detail::ViewedElement T, detail::ViewedFlag B, std::size_t N, std::size_t M, std::size_t R,
          std::size_t C>
void partition(const View<T, N>& x, const View<B, M>& first, const detail::ResultView<T, R>& result,
               const View<std::int64_t, C>& count, const ElementCount& size = {},
               detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"partition"}, size, where, x, first, result, count);
}
template <detail::ViewedScalar T, std::size_t N, std::size_t R, std::size_t C>
void unique(const View<T, N>& x, const detail::ResultView<T, R>& result, const View<std::int64_t, C>& count,
            const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"unique"}, size, where, x, result, count);
}

template <detail::ViewedScalar K, detail::ViewedNumber T, std::size_t N, std::size_t M, std::size_t Q,
          std::size_t R, std::size_t C>
void reduce_by_key(const View<K, N>& keys, const View<T, M>& values,
                   const detail::ResultView<K, Q>& result_keys, const detail::ResultView<T, R>& result_values,
                   const View<std::int64_t, C>& count, Combine combine = Combine::sum,
                   const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"reduce_by_key", detail::word_of(combine)}, size, where, keys, values, result_keys,
                          result_values, count);
}

template <detail::ViewedNumber T, std::size_t N, std::size_t C>
void histogram(const View<T, N>& x, double low, double high, const View<std::int64_t, C>& counts,
               const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"histogram", {}, low, high}, size, where, x, counts);
}

template <detail::ViewedElement T, detail::ViewedIndex I, std::size_t N, std::size_t M, std::size_t R>
void gather(const View<T, N>& x, const View<I, M>& index, const detail::ResultView<T, R>& result,
            const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"gather"}, size, where, x, index, result);
}
template <detail::ViewedElement T, detail::ViewedIndex I, std::size_t N, std::size_t M, std::size_t R>
void scatter(const View<T, N>& x, const View<I, M>& index, const detail::ResultView<T, R>& result,
             const ElementCount& size = {}, detail::Where where = detail::Where::current()) {
  detail::trace_algorithm({"scatter"}, size, where, x, index, result);
}

}  // namespace weir
