// SPDX-License-Identifier: Apache-2.0
// Group loops: groups of threads that share memory, wait for one another and exchange values.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <algorithm>
#include <weir/dsl/atomic.hpp>
#include <weir/dsl/common.hpp>
#include <weir/dsl/control.hpp>
#include <weir/dsl/math.hpp>

namespace weir {

/// The number of groups of a group_for, per dimension; made by groups().
template <std::size_t Rank>
struct Groups {
  detail::Bounds bounds[Rank];
};
/// One to three numbers of groups, or ranges of their indices.
inline Groups<1> groups(const detail::Extent& n) {
  return {{n.bounds()}};
}
inline Groups<2> groups(const detail::Extent& n0, const detail::Extent& n1) {
  return {{n0.bounds(), n1.bounds()}};
}
inline Groups<3> groups(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2) {
  return {{n0.bounds(), n1.bounds(), n2.bounds()}};
}

/// The threads of a group, per dimension: at most 1024 together. Threads are numbered with the last dimension
/// fastest.
template <std::size_t... N>
struct Threads {};
template <std::size_t... N>
inline constexpr Threads<N...> threads{};

namespace detail {
template <class T>
inline constexpr bool is_groups = false;
template <std::size_t Rank>
inline constexpr bool is_groups<Groups<Rank>> = true;
template <class T>
inline constexpr bool is_threads = false;
template <std::size_t... N>
inline constexpr bool is_threads<Threads<N...>> = true;

template <std::uint32_t Width>
constexpr void check_width() {
  static_assert(Width > 0 && Width <= 32 && (Width & (Width - 1)) == 0,
                "the width of a sub-group is 1, 2, 4, 8, 16 or 32");
}
template <class V>
concept NoCondition = !std::convertible_to<V, Operand<bool>>;
}  // namespace detail

/// Runs the body for each thread of each group; it takes the indices of the group, then those of the thread,
/// together at most 4. Must be directly in the kernel or in a stream_parallel block. Groups run in any order.
/// The threads of one group run together: they may use Shared memory, barrier() and the exchanges below.
/// continue_(), a false assert_ and a failed bounds check end a thread early. It takes no further part, and
/// barriers do not wait for it.
template <std::size_t Rank, std::size_t... N, class F>
void group_for(const Groups<Rank>& groups, Threads<N...>, F&& body,
               detail::Where where = detail::Where::current()) {
  // Not in Threads, for which g++ does not name the line of the caller.
  static_assert(sizeof...(N) > 0 && ((N > 0) && ...),
                "threads<N, ...> names at least one dimension, each of 1 or more");
  static_assert((N * ... * 1) <= 1024,
                "a group has at most 1024 threads; let each thread compute several elements");
  constexpr std::size_t rank = Rank + sizeof...(N);
  static_assert(rank <= max_rank, "a group_for has at most 4 indices, of groups and threads together");
  if constexpr (rank <= max_rank) {
    const std::uint64_t extents[] = {N...};
    detail::Handle indices[rank];
    detail::Scope scope;
    detail::open_group(scope, groups.bounds, Rank, extents, sizeof...(N), indices, where);
    detail::call_loop_body<std::remove_reference_t<F>, rank>(body, indices);
  }
}
template <class G, class T, class F>
  requires(!detail::is_groups<std::remove_cvref_t<G>> || !detail::is_threads<std::remove_cvref_t<T>>)
void group_for(G&&, T&&, F&&) {
  static_assert(detail::always_false<F>,
                "write group_for(groups(n), threads<64>, [&](Index g, Index t) { ... }): first the number of "
                "groups, then "
                "the threads of a group, which are a constant");
}

/// An array that the threads of a group share, one for each group, directly in the body of a group_for. It is
/// not initialised: each element must be written, and a barrier() passed, before another thread reads it. All
/// Shared arrays of a group_for take at most 48 KiB together. `s(i, j)` and, with one dimension, `s[i]` are
/// elements as in an array; atomics work on them. An index that is a constant is checked when the kernel is
/// built. Other indices are undefined outside of the array, unless the kernel checks bounds: then the
/// position in the whole array is checked.
template <class T, std::size_t... N>
class Shared {
  static_assert(KernelElement<T> && sizeof...(N) > 0 && sizeof...(N) <= max_rank && ((N > 0) && ...),
                "Shared<T, N...> holds numbers, bools, Vecs or Mats in one to four dimensions");
  static_assert(!std::same_as<detail::scalar_t<T>, half>,
                "kernels compute halves as float: write Shared<float, N...>");
  static constexpr std::size_t count = (N * ...);

 public:
  explicit Shared(detail::Where where = detail::Where::current())
      : place_(detail::emit_shared(detail::scalar_type<T>, detail::component_count<T>, count, where)) {}
  Shared(const Shared&) = delete;  // capture it by reference

  static constexpr std::size_t size() noexcept { return count; }

  Element<T> operator[](const detail::Subscript& index) const {
    static_assert(sizeof...(N) == 1, "name all indices: s(i, j)");
    detail::check_local_index(index, count, "the Shared");
    return element(index.handle(), index.where());
  }
  Element<T> operator()(const detail::Subscript& i) const { return at({&i}); }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j) const { return at({&i, &j}); }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j,
                        const detail::Subscript& k) const {
    return at({&i, &j, &k});
  }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j, const detail::Subscript& k,
                        const detail::Subscript& l) const {
    return at({&i, &j, &k, &l});
  }

 private:
  template <std::size_t Count>
  Element<T> at(const detail::Subscript* const (&indices)[Count]) const {
    static_assert(Count == sizeof...(N),
                  "s(i, j, ...) takes as many indices as Shared<T, N...> has dimensions");
    constexpr std::size_t extents[] = {N...};
    detail::Handle position;
    for (std::size_t d = 0; d < std::min(Count, sizeof...(N)); ++d) {
      const detail::Where where = indices[d]->where();
      detail::check_local_index(*indices[d], extents[d], "this dimension of the Shared");
      const detail::Handle index = indices[d]->handle();
      // The position alone may lie inside although an index does not.
      if (Count > 1 && !indices[d]->constant()) detail::emit_dimension_check(index, extents[d], d, where);
      const auto row = [&] {
        const detail::Handle factors[] = {position,
                                          detail::emit_constant(ScalarType::i64, extents[d], where)};
        const detail::Handle terms[] = {detail::emit("mul", ScalarType::i64, factors, 2, where), index};
        return detail::emit("add", ScalarType::i64, terms, 2, where);
      };
      position = d == 0 ? index : row();
    }
    return element(position, indices[0]->where());
  }
  Element<T> element(const detail::Handle& index, const detail::Where& where) const {
    detail::Place place = place_;
    place.rank = 1;
    place.index[0] = index;
    place.where = where;
    return detail::Access::element<T>(place);
  }

  detail::Place place_;
};

namespace detail {
template <class T, std::size_t... N>
inline constexpr bool is_no_element<Shared<T, N...>> = true;
}  // namespace detail

/// Waits for all threads of the group; their writes before it are visible after it. Either all threads of a
/// group reach it, or none. Inside if_, for_ and while_ it is therefore allowed only where conditions and
/// bounds are uniform. These are computed from constants, scalars, extents, indices of groups and of such
/// loops, variables that only hold such values, and elements at such indices of arrays that the group_for
/// does not write. After a continue_() or assert_ that only some threads reach, elements no longer count.
/// Other barriers are refused when the kernel is built.
inline void barrier(detail::Where where = detail::Where::current()) {
  detail::emit_barrier(0, where);
}

/// The number of the thread in its group, from 0.
inline Index thread_number(detail::Where where = detail::Where::current()) {
  const detail::Handle number = detail::emit_thread_number("thread_number", where);
  return detail::Access::value<std::int64_t>(&number);
}

// Exchange in sub-groups: Width consecutive threads of a group, Width a power of two up to 32 that divides
// the number of threads. All threads of a group must reach an exchange together, as a barrier. Results have
// the same bits on every device.

/// Waits for the threads of the sub-group; their writes before it are visible to one another after it. All
/// threads of the group reach it together, as a barrier(). It costs less where threads of a GPU run in step.
template <std::uint32_t Width>
void subgroup_barrier(detail::Where where = detail::Where::current()) {
  detail::check_width<Width>();
  detail::emit_barrier(Width, where);
}

/// The number of the thread in its sub-group, from 0 to Width - 1.
template <std::uint32_t Width>
Value<std::int32_t> lane(detail::Where where = detail::Where::current()) {
  detail::check_width<Width>();
  const detail::Handle thread = detail::emit_thread_number("lane", where);
  const Index number = detail::Access::value<std::int64_t>(&thread);
  return cast<std::int32_t>(number) & static_cast<std::int32_t>(Width - 1);
}

/// The value that lane `from` of the sub-group passes; `from` is taken modulo Width. After a thread ended
/// early, its value is 0.
template <std::uint32_t Width, detail::Traced V>
Value<detail::traced_t<V>> shuffle(V&& value, const detail::Operand<std::int32_t>& from,
                                   detail::Where where = detail::Where::current()) {
  detail::check_width<Width>();
  using T = detail::traced_t<V>;
  const detail::Operand<T> operand(static_cast<V&&>(value), where);
  detail::Handle results[detail::component_count<T>];
  detail::emit_shuffle(detail::scalar_type<T>, operand.components(), detail::component_count<T>, Width,
                       from[0], results, where);
  return detail::Access::value<T>(results);
}
template <std::uint32_t Width, detail::Traced V, class L>
  requires(!std::convertible_to<L, detail::Operand<std::int32_t>>)
void shuffle(V&&, L&&) {
  static_assert(detail::always_false<L>,
                "the number of a lane is an i32: write cast<std::int32_t>(...) around it");
}
/// The value of the lane whose number differs in the bits of `mask`.
template <std::uint32_t Width, detail::Traced V>
Value<detail::traced_t<V>> shuffle_xor(V&& value, std::int32_t mask,
                                       detail::Where where = detail::Where::current()) {
  return shuffle<Width>(static_cast<V&&>(value), lane<Width>(where) ^ mask, where);
}
/// The value of the lane `by` positions lower; the thread's own where there is none.
template <std::uint32_t Width, detail::Traced V>
Value<detail::traced_t<V>> shuffle_up(V&& value, std::int32_t by,
                                      detail::Where where = detail::Where::current()) {
  const Value<std::int32_t> own = lane<Width>(where);
  return shuffle<Width>(static_cast<V&&>(value), select(own >= by, own - by, own), where);
}
/// The value of the lane `by` positions higher; the thread's own where there is none.
template <std::uint32_t Width, detail::Traced V>
Value<detail::traced_t<V>> shuffle_down(V&& value, std::int32_t by,
                                        detail::Where where = detail::Where::current()) {
  const Value<std::int32_t> own = lane<Width>(where);
  return shuffle<Width>(static_cast<V&&>(value),
                        select(own + by < static_cast<std::int32_t>(Width), own + by, own), where);
}

/// `combine(a, b)` over all lanes, the result in every lane. Lane l is combined with lane l ^ 1, then with l
/// ^ 2, and so on; the lower lane's value is the first operand.
template <std::uint32_t Width, detail::Traced V, class Combine>
Value<detail::traced_t<V>> subgroup_reduce(V&& value, Combine&& combine,
                                           detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<V>;
  Var<T> result(Value<T>(static_cast<V&&>(value), where), where);  // a Var is not copied
  const Value<std::int32_t> own = lane<Width>(where);
  for (std::uint32_t step = 1; step < Width; step *= 2) {
    const Value<T> mine(result, where);
    const Value<T> other = shuffle_xor<Width>(mine, static_cast<std::int32_t>(step), where);
    const Value<bool> lower = (own & static_cast<std::int32_t>(step)) == 0;
    const Value<T> first = select(lower, mine, other), second = select(lower, other, mine);
    result = combine(first, second);
  }
  return Value<T>(result, where);
}
/// Inclusive scan: lane l gets `combine` over lanes 0 to l. Steps of 1, 2, 4, ...: lane l combines the value
/// of lane l - step, as the first operand, with its own.
template <std::uint32_t Width, detail::Traced V, class Combine>
Value<detail::traced_t<V>> subgroup_scan(V&& value, Combine&& combine,
                                         detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<V>;
  Var<T> result(Value<T>(static_cast<V&&>(value), where), where);  // a Var is not copied
  const Value<std::int32_t> own = lane<Width>(where);
  for (std::uint32_t step = 1; step < Width; step *= 2) {
    const Value<T> mine(result, where);
    const Value<T> lower = shuffle_up<Width>(mine, static_cast<std::int32_t>(step), where);
    const Value<T> both = combine(lower, mine);
    result = select(own >= static_cast<std::int32_t>(step), both, mine);
  }
  return Value<T>(result, where);
}

/// Bit l of the result is the value of lane l; bits from Width on are 0. After a thread ended early, its
/// value is false.
template <std::uint32_t Width>
Value<std::uint32_t> ballot(const detail::Operand<bool>& value,
                            detail::Where where = detail::Where::current()) {
  detail::check_width<Width>();
  const detail::Handle bits = detail::emit_ballot(value[0], Width, where);
  return detail::Access::value<std::uint32_t>(&bits);
}
template <std::uint32_t Width, detail::NoCondition V>
void ballot(V&&) {
  static_assert(detail::always_false<V>, "ballot takes a condition: write x != 0");
}
/// Whether the value is true in some lane, or in all.
template <std::uint32_t Width>
Value<bool> subgroup_any(const detail::Operand<bool>& value, detail::Where where = detail::Where::current()) {
  return ballot<Width>(value, where) != 0u;
}
template <std::uint32_t Width>
Value<bool> subgroup_all(const detail::Operand<bool>& value, detail::Where where = detail::Where::current()) {
  return ballot<Width>(value, where) == static_cast<std::uint32_t>((std::uint64_t{1} << Width) - 1);
}
template <std::uint32_t Width, detail::NoCondition V>
void subgroup_any(V&&) {
  static_assert(detail::always_false<V>, "subgroup_any takes a condition: write x != 0");
}
template <std::uint32_t Width, detail::NoCondition V>
void subgroup_all(V&&) {
  static_assert(detail::always_false<V>, "subgroup_all takes a condition: write x != 0");
}

}  // namespace weir
