// SPDX-License-Identifier: Apache-2.0
// Loops, branches and stream_parallel. Bodies are lambdas that capture by reference and run once, while the
// kernel is built.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/value.hpp>

namespace weir {

/// Half-open range of indices; made by range().
class Range {
 public:
  Range(const detail::Subscript& low, const detail::Subscript& high) : bounds_(bounds_of(low, high)) {}
  const detail::Bounds& bounds() const noexcept { return bounds_; }

 private:
  static detail::Bounds bounds_of(const detail::Subscript& low, const detail::Subscript& high) {
    detail::expect_kernel("range()", low.where());
    return {low.handle(), high.handle()};  // in order
  }

  detail::Bounds bounds_;
};

/// From `low` up to, not including, `high`; empty when high <= low.
inline Range range(const detail::Subscript& low, const detail::Subscript& high) {
  return Range(low, high);
}

namespace detail {

/// What bounds one dimension of range_for and the reductions: n for 0 to n, or range(low, high).
class Extent {
 public:
  template <class N>
    requires(Traced<N> || HostNumber<N>)
  Extent(N&& count, Where where = Where::current()) : count_(static_cast<N&&>(count), where) {}
  Extent(const Range& range) : count_(0, Where()), range_(&range) {}
  Bounds bounds() const {
    if (range_ != nullptr) return range_->bounds();
    return {emit_constant(ScalarType::i64, 0, count_.where()), count_.handle()};
  }

 private:
  Subscript count_;
  const Range* range_ = nullptr;
};

template <class Returned>
constexpr void check_returns_nothing() {
  static_assert(
      std::is_void_v<Returned>,
      "the body of a loop or branch returns nothing: store to an array or a Var, or use a reduction");
}

template <class F>
constexpr void check_body() {
  static_assert(std::is_invocable_v<F&>, "the body is a lambda without parameters: [&] { ... }");
  if constexpr (std::is_invocable_v<F&>) check_returns_nothing<std::invoke_result_t<F&>>();
}

template <class F, std::size_t Rank>
decltype(auto) call_with_indices(F& body, const Handle* indices) {
  const auto index = [&](std::size_t d) { return Access::value<std::int64_t>(indices + d); };
  if constexpr (Rank == 1) {
    static_assert(std::is_invocable_v<F&, Index>,
                  "the body of a loop over 1 range takes 1 index: [&](Index i) { ... }");
    return body(index(0));
  } else if constexpr (Rank == 2) {
    static_assert(std::is_invocable_v<F&, Index, Index>,
                  "the body of a loop over 2 ranges takes 2 indices: [&](Index i, Index j) { ... }");
    return body(index(0), index(1));
  } else if constexpr (Rank == 3) {
    static_assert(std::is_invocable_v<F&, Index, Index, Index>,
                  "the body of a loop over 3 ranges takes 3 indices: [&](Index i, Index j, Index k) { ... }");
    return body(index(0), index(1), index(2));
  } else {
    static_assert(
        std::is_invocable_v<F&, Index, Index, Index, Index>,
        "the body of a loop over 4 ranges takes 4 indices: [&](Index i, Index j, Index k, Index l) { ... }");
    return body(index(0), index(1), index(2), index(3));
  }
}

template <class F, std::size_t Rank>
void call_loop_body(F& body, const Handle* indices) {
  check_returns_nothing<decltype(call_with_indices<F, Rank>(body, indices))>();
  call_with_indices<F, Rank>(body, indices);
}

template <class F, class... N>
void trace_range(F& body, Where where, const N&... extents) {
  constexpr std::size_t rank = sizeof...(N);
  expect_kernel("range_for", where);
  const Bounds bounds[] = {extents.bounds()...};
  Handle indices[rank];
  Scope scope;
  open_range(scope, bounds, rank, indices, where);
  call_loop_body<F, rank>(body, indices);
}

}  // namespace detail

/// Runs the body for every index of the ranges. Directly in the kernel or in a stream_parallel block all
/// iterations run in parallel, in any order, also in repeat; inside other loops and branches it is a
/// sequential loop, the last range innermost. A for_ or while_ around it must be in a parallel loop. Bounds
/// are evaluated once, on the device if need be.
template <class F>
void range_for(const detail::Extent& n, F&& body, detail::Where where = detail::Where::current()) {
  detail::trace_range(body, where, n);
}
template <class F>
void range_for(const detail::Extent& n0, const detail::Extent& n1, F&& body,
               detail::Where where = detail::Where::current()) {
  detail::trace_range(body, where, n0, n1);
}
template <class F>
void range_for(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2, F&& body,
               detail::Where where = detail::Where::current()) {
  detail::trace_range(body, where, n0, n1, n2);
}
template <class F>
void range_for(const detail::Extent& n0, const detail::Extent& n1, const detail::Extent& n2,
               const detail::Extent& n3, F&& body, detail::Where where = detail::Where::current()) {
  detail::trace_range(body, where, n0, n1, n2, n3);
}

template <class N, class F>
  requires(!std::convertible_to<N, detail::Extent>)
void range_for(N&&, F&&) {
  static_assert(detail::always_false<N>,
                "range_for takes a number or a range: write range_for(x.size(), [&](Index i) { ... })");
}

/// A sequential loop: index = low, low + step, ... while index < high. A step of 0 or less runs nothing.
template <class F>
void for_(const detail::Subscript& low, const detail::Subscript& high, const detail::Subscript& step,
          F&& body, detail::Where where = detail::Where::current()) {
  detail::expect_kernel("for_", where);
  const detail::Handle from = low.handle(), to = high.handle(), by = step.handle();
  detail::Handle index;
  detail::Scope scope;
  detail::open_for(scope, from, to, by, &index, where);
  detail::call_loop_body<std::remove_reference_t<F>, 1>(body, &index);
}
template <class F>
void for_(const detail::Subscript& low, const detail::Subscript& high, F&& body,
          detail::Where where = detail::Where::current()) {
  for_(low, high, detail::Subscript(1, where), body, where);
}

template <class N, class F>
void for_(const N&, F&&) {
  static_assert(detail::always_false<F>, "for_ names both bounds: write for_(0, n, [&](Index k) { ... })");
}

/// Runs the body as long as the condition, a lambda that is evaluated before each iteration, gives true.
template <class C, class F>
void while_(C&& condition, F&& body, detail::Where where = detail::Where::current()) {
  static_assert(std::is_invocable_v<C&>,
                "the condition of while_ is evaluated in every iteration: write it as a lambda, while_([&] { "
                "return v < 10; "
                "}, [&] { ... })");
  detail::check_body<std::remove_reference_t<F>>();
  if constexpr (std::is_invocable_v<C&>) {
    detail::Scope scope;
    detail::open_condition(scope, where);
    const detail::Handle holds = detail::Operand<bool>(condition(), where)[0];
    detail::open_while(scope, holds, where);
    body();
  }
}

namespace detail {

/// The body of a repetition takes its number or nothing.
template <class F>
decltype(auto) call_repeated(F& body, const Handle& number) {
  static_assert(std::is_invocable_v<F&, Index> || std::is_invocable_v<F&>,
                "the body of repeat takes the number of the repetition or nothing: [&](Index k) { ... } or "
                "[&] { ... }");
  if constexpr (std::is_invocable_v<F&, Index>) {
    return body(Access::value<std::int64_t>(&number));
  } else {
    return body();
  }
}

template <class C, class F>
void trace_repeat_while(const Handle& most, C& condition, F& body, Where where) {
  static_assert(std::is_invocable_v<C&, Index> || std::is_invocable_v<C&>,
                "the condition of repeat_while is evaluated before every repetition: write it as a lambda, "
                "repeat_while([&] { return error > limit; }, [&] { ... })");
  if constexpr (std::is_invocable_v<C&, Index> || std::is_invocable_v<C&>) {
    Scope scope;
    const Handle number = open_repeat_while(scope, most, where);
    const Handle holds = Operand<bool>(call_repeated(condition, number), where)[0];
    open_repeat_body(scope, holds, where);
    check_returns_nothing<decltype(call_repeated(body, number))>();
    call_repeated(body, number);
  }
}

}  // namespace detail

/// Runs the body `count` times, one repetition after the other, within the launch: loops and reductions in it
/// run in parallel. A count of 0 or less runs nothing. Directly in the kernel, in another repeat or in a
/// stream_parallel block; the body holds anything but stream_parallel. Variables that are declared outside
/// keep their values from one repetition to the next. The count is evaluated once, on the device if need be.
/// The host never waits.
///
/// A count that is computed from constants, scalars and extents, and from the numbers of outer repetitions,
/// lets loops in the body use the whole device. With any other count one task runs the repetitions: all
/// blocks of a GPU with cooperative launches if the loops are large, else one block of a GPU or one thread of
/// a CPU.
template <class F>
void repeat(const detail::Subscript& count, F&& body, detail::Where where = detail::Where::current()) {
  detail::expect_kernel("repeat", where);
  detail::Scope scope;
  const detail::Handle number = detail::open_repeat(scope, count.handle(), where);
  detail::check_returns_nothing<decltype(detail::call_repeated(body, number))>();
  detail::call_repeated(body, number);
}

/// Runs the body as long as the condition, a lambda that is evaluated on the device before each repetition,
/// gives true. The condition may hold loops and reductions. It counts as false after a failure of an assert_
/// or a bounds check. One task runs the repetitions, as with a count that only the device knows.
template <class C, class F>
void repeat_while(C&& condition, F&& body, detail::Where where = detail::Where::current()) {
  detail::expect_kernel("repeat_while", where);
  detail::trace_repeat_while(detail::emit_constant(ScalarType::i64, ~std::uint64_t{0} >> 1, where), condition,
                             body, where);
}
/// The same, at most `most` times.
template <class C, class F>
void repeat_while(const detail::Subscript& most, C&& condition, F&& body,
                  detail::Where where = detail::Where::current()) {
  detail::expect_kernel("repeat_while", where);
  detail::trace_repeat_while(most.handle(), condition, body, where);
}

/// Leaves the innermost for_ or while_.
inline void break_(detail::Where where = detail::Where::current()) {
  detail::emit_break(where);
}
/// Goes on with the next iteration of the innermost loop of any kind.
inline void continue_(detail::Where where = detail::Where::current()) {
  detail::emit_continue(where);
}

/// What if_ returns, so that else_ and else_if can follow it.
class Branch {
 public:
  explicit Branch(const detail::BranchPoint& point) noexcept : point_(point) {}

  template <class F>
  void else_(F&& body, detail::Where where = detail::Where::current()) const {
    detail::check_body<std::remove_reference_t<F>>();
    detail::Scope scope;
    detail::open_else(scope, point_, where);
    body();
  }

  /// `condition` is evaluated only where the conditions before it were false.
  template <class F>
  Branch& else_if(const detail::Operand<bool>& condition, F&& body,
                  detail::Where where = detail::Where::current()) {
    detail::check_body<std::remove_reference_t<F>>();
    detail::Scope scope;
    detail::open_else_if(scope, point_, condition[0], where);
    body();
    return *this;
  }

 private:
  detail::BranchPoint point_;
};

/// Runs the body where the condition holds: if_(c, [&] { ... }).else_if(d, [&] { ... }).else_([&] { ... });
template <class F>
Branch if_(const detail::Operand<bool>& condition, F&& body, detail::Where where = detail::Where::current()) {
  detail::check_body<std::remove_reference_t<F>>();
  detail::Scope scope;
  const detail::BranchPoint point = detail::open_if(scope, condition[0], where);
  body();
  return Branch(point);
}

template <class F, class G>
  requires std::is_invocable_v<G&>
void if_(const detail::Operand<bool>&, F&&, G&&) {
  static_assert(detail::always_false<G>, "write if_(c, [&] { ... }).else_([&] { ... })");
}
template <class C, class F>
  requires(!std::convertible_to<C, detail::Operand<bool>>)
void if_(C&&, F&&) {
  static_assert(detail::always_false<C>, "if_ takes a condition: write if_(x != 0, [&] { ... })");
}

/// Says that stream blocks of a region may touch the same memory, and that the kernel sees to it that this is
/// right.
struct ConflictsAreMeant {};
inline constexpr ConflictsAreMeant conflicts_are_meant;

/// A stream block, which runs at the same time as the stream blocks next to it. Consecutive stream blocks form
/// one region: it begins after everything before it and ends before anything after it. Must be in the kernel's
/// body only. Computing with scalars and extents between two stream blocks does not separate them; loads,
/// stores and loops do, and so does stream_region.
template <class F>
void stream_parallel(F&& body, detail::Where where = detail::Where::current()) {
  detail::check_body<std::remove_reference_t<F>>();
  detail::Scope scope;
  detail::open_stream_block(scope, false, where);
  body();
}
/// The same, without the check for conflicts in the whole region.
template <class F>
void stream_parallel(ConflictsAreMeant, F&& body, detail::Where where = detail::Where::current()) {
  detail::check_body<std::remove_reference_t<F>>();
  detail::Scope scope;
  detail::open_stream_block(scope, true, where);
  body();
}

/// A region of its own: the stream blocks in `body` form one region, which stream blocks directly before and
/// after it do not join. Must be in the kernel's body only; besides stream blocks, `body` may compute with
/// scalars and extents.
template <class F>
void stream_region(F&& body, detail::Where where = detail::Where::current()) {
  detail::check_body<std::remove_reference_t<F>>();
  detail::Scope scope;
  detail::open_stream_region(scope, where);
  body();
}

/// Where the condition is false the iteration ends, and the launch fails with `message` and this line.
inline void assert_(const detail::Operand<bool>& condition, std::string_view message,
                    detail::Where where = detail::Where::current()) {
  detail::emit_assert(condition[0], message, where);
}

}  // namespace weir
