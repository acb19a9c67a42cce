// SPDX-License-Identifier: Apache-2.0
// Reductions: one number from all iterations of a loop, combined in an order that depends on nothing but
// their count.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/control.hpp>

namespace weir {

namespace detail {

template <class R>
struct ReducedOf {
  using type = R;
};
template <Traced R>
struct ReducedOf<R> {
  using type = traced_t<R>;
};

template <bool Booleans, class F, class... N>
auto trace_reduce(std::string_view kind, F& body, Where where, const N&... extents) {
  constexpr std::size_t Rank = sizeof...(N);
  // The index values only choose the overload here; the body runs once, below.
  using Returned = decltype(call_with_indices<F, Rank>(body, nullptr));
  using T = typename ReducedOf<std::remove_cvref_t<Returned>>::type;
  static_assert(KernelScalar<T>,
                "the body of a reduction returns one number or bool; reduce a Vec by its components");
  if constexpr (Booleans) {
    static_assert(std::same_as<T, bool>, "reduce_any and reduce_all take a condition: compare with 0");
  } else {
    static_assert(
        !std::same_as<T, bool>,
        "booleans are reduced with reduce_any and reduce_all; to count them, return select(c, 1, 0) "
        "from the body of reduce_sum");
  }
  expect_kernel("a reduction", where);
  const Bounds bounds[] = {extents.bounds()...};
  Handle indices[Rank];
  Reduction reduction(kind, scalar_type<T>, bounds, Rank, indices, where);
  const Handle value = Operand<T>(call_with_indices<F, Rank>(body, indices), where)[0];
  const Handle result = reduction.close(value, where);
  return Access::value<T>(&result);
}

}  // namespace detail

#define WEIR_REDUCE(name, booleans)                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n, F&& body, detail::Where where = detail::Where::current()) {    \
    return detail::trace_reduce<booleans>(#name, body, where, n);                                            \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, F&& body,                           \
                     detail::Where where = detail::Where::current()) {                                       \
    return detail::trace_reduce<booleans>(#name, body, where, n0, n1);                                       \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2, F&& body, \
                     detail::Where where = detail::Where::current()) {                                       \
    return detail::trace_reduce<booleans>(#name, body, where, n0, n1, n2);                                   \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2,           \
                     const detail::Extent& n3, F&& body, detail::Where where = detail::Where::current()) {   \
    return detail::trace_reduce<booleans>(#name, body, where, n0, n1, n2, n3);                               \
  }

/// Combines the body's values over all indices: Value<float> s = reduce_sum(x.size(), [&](Index i) {
/// return x[i]; }). The same bits on every run and every driver. Over nothing: 0 for sum, the largest value
/// for min (infinity for floats), the smallest for max, false for any, true for all. In another loop or
/// branch it is computed sequentially.
WEIR_REDUCE(sum, false)
WEIR_REDUCE(min, false)
WEIR_REDUCE(max, false)
WEIR_REDUCE(any, true)
WEIR_REDUCE(all, true)
#undef WEIR_REDUCE

}  // namespace weir
