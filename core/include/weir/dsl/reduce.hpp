// SPDX-License-Identifier: Apache-2.0
// Reductions: one number from all iterations of a loop, combined in an order that depends only on their
// number.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <limits>
#include <weir/dsl/control.hpp>
#include <weir/dsl/math.hpp>

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

enum class ReducedValues : std::uint8_t { numbers, integers, conditions };

template <ReducedValues Values, class T>
constexpr void check_reduced() {
  static_assert(is_scalar<T> || is_vec<T>,
                "the body of a reduction returns one number, bool or Vec; reduce a Mat by its entries");
  constexpr bool conditions = std::same_as<scalar_t<T>, bool>;
  if constexpr (Values == ReducedValues::conditions) {
    static_assert(conditions, "reduce_any and reduce_all take a condition: compare with 0");
  } else {
    static_assert(
        !conditions,
        "booleans are reduced with reduce_any and reduce_all; to count them, return select(c, 1, 0) "
        "from the body of reduce_sum");
    if constexpr (Values == ReducedValues::integers)
      static_assert(has_integers<T>, "reduce_and, reduce_or and reduce_xor work on integers");
  }
}

/// `repeated` names the function that traces the body more than once, or is empty.
template <ReducedValues Values, class F, class... N>
auto trace_reduce(std::string_view kind, F& body, std::string_view repeated, Where where,
                  const N&... extents) {
  constexpr std::size_t Rank = sizeof...(N);
  // The index values only choose the overload here; the body runs below.
  using Returned = decltype(call_with_indices<F, Rank>(body, nullptr));
  using T = typename ReducedOf<std::remove_cvref_t<Returned>>::type;
  check_reduced<Values, T>();
  expect_kernel("a reduction", where);
  const Bounds bounds[] = {extents.bounds()...};
  if (component_count < T >> 1) repeated = "a reduction of a Vec";
  Handle results[component_count<T>];
  for (std::size_t c = 0; c < component_count<T>; ++c) {
    Handle indices[Rank];
    Reduction reduction(kind, scalar_type<T>, bounds, Rank, indices, where);
    const Handle value = Operand<T>(call_with_indices<F, Rank>(body, indices), where)[c];
    if (!repeated.empty()) reduction.expect_no_effects(repeated, where);
    results[c] = reduction.close(value, where);
  }
  return Access::value<T>(results);
}

template <class F>
Index trace_arg(std::string_view name, std::string_view kind, F& body, Where where, const Extent& extent) {
  using Returned = decltype(call_with_indices<F, 1>(body, nullptr));
  using T = typename ReducedOf<std::remove_cvref_t<Returned>>::type;
  static_assert(is_scalar<T> && !std::same_as<T, bool>, "the body of arg_min and arg_max returns one number");
  const Value<T> extreme = trace_reduce<ReducedValues::numbers>(kind, body, name, where, extent);
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const auto index = [&](Index i) {
    const Handle value = Operand<T>(body(i), where)[0];
    return select(Access::value<T>(&value) == extreme, i, none);
  };
  const Index first = trace_reduce<ReducedValues::numbers>("min", index, name, where, extent);
  return select(first == none, -1, first);
}

}  // namespace detail

#define WEIR_REDUCE(name, values)                                                                            \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n, F&& body, detail::Where where = detail::Where::current()) {    \
    return detail::trace_reduce<detail::ReducedValues::values>(#name, body, {}, where, n);                   \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, F&& body,                           \
                     detail::Where where = detail::Where::current()) {                                       \
    return detail::trace_reduce<detail::ReducedValues::values>(#name, body, {}, where, n0, n1);              \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2, F&& body, \
                     detail::Where where = detail::Where::current()) {                                       \
    return detail::trace_reduce<detail::ReducedValues::values>(#name, body, {}, where, n0, n1, n2);          \
  }                                                                                                          \
  template <class F>                                                                                         \
  auto reduce_##name(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2,           \
                     const detail::Extent& n3, F&& body, detail::Where where = detail::Where::current()) {   \
    return detail::trace_reduce<detail::ReducedValues::values>(#name, body, {}, where, n0, n1, n2, n3);      \
  }

/// Combines the body's values over all indices: Value<float> s = reduce_sum(x.size(), [&](Index i) {
/// return x[i]; }). The same bits on every run and every driver. Over an empty range the result is the
/// identity: 0 for sum, or and xor, the largest value for min (infinity for floats), the smallest for max,
/// all bits for and, false for any, true for all. In another loop or branch it is computed sequentially. A
/// Vec is reduced by component; its body is evaluated for each component, so it must not write, print or draw
/// random numbers.
WEIR_REDUCE(sum, numbers)
WEIR_REDUCE(min, numbers)
WEIR_REDUCE(max, numbers)
WEIR_REDUCE(and, integers)
WEIR_REDUCE(or, integers)
WEIR_REDUCE(xor, integers)
WEIR_REDUCE(any, conditions)
WEIR_REDUCE(all, conditions)
#undef WEIR_REDUCE

/// The first index of the range whose value is the minimum: Index i = arg_min(x.size(), [&](Index i) { return
/// x[i]; }). NaN is ignored as in reduce_min, and -0 equals 0. The result is -1 over an empty range and if
/// all values are NaN. The body is evaluated twice, so it must not write, print or draw random numbers.
template <class F>
Index arg_min(const detail::Extent& n, F&& body, detail::Where where = detail::Where::current()) {
  return detail::trace_arg("arg_min", "min", body, where, n);
}
/// The same for the maximum.
template <class F>
Index arg_max(const detail::Extent& n, F&& body, detail::Where where = detail::Where::current()) {
  return detail::trace_arg("arg_max", "max", body, where, n);
}

}  // namespace weir
