// SPDX-License-Identifier: Apache-2.0
// Tables, loops and choices for decompositions of small matrices. These are written once for a calculus W:
// InKernel for traced values, OnHost for numbers. All arithmetic is +, -, *, / and sqrt, so both give the
// same bits, unless the host's compiler contracts products and sums into fma. Internal: users call the
// functions of dsl/linear_algebra.hpp. Threads and errors: as in dsl/value.hpp.
#pragma once

#include <cmath>
#include <limits>
#include <weir/dsl/control.hpp>
#include <weir/dsl/matrix.hpp>

namespace weir::detail {

/// The largest size for which kernels repeat statements for each entry. Larger tables are local arrays with
/// loops, which keeps the code small.
inline constexpr std::size_t largest_unrolled = 4;
/// Sweeps after which Jacobi's methods end at the latest. They converge quadratically: 12 x 12 matrices take
/// fewer than 10.
inline constexpr int max_sweeps = 30;

/// R x C variables of a kernel. Indices are host numbers, traced in tables of `Loops`.
template <class T, std::size_t R, std::size_t C, bool Loops>
class KernelTable {
 public:
  KernelTable() = default;
  explicit KernelTable(const Value<Mat<T, R, C>>& m) { fill(m); }
  explicit KernelTable(const Value<Vec<T, R>>& v) requires(C == 1) { fill(v); }

  template <class I, class J>
  Value<T> get(const I& row, const J& column) const {
    if constexpr (Loops) {
      return cells_[row * C + column];
    } else {
      return cells_(row, column);
    }
  }
  template <class I, class J, class A>
  void set(const I& row, const J& column, const A& value) {
    if constexpr (Loops) {
      cells_[row * C + column] = value;
    } else {
      cells_(row, column) = value;
    }
  }
  Value<Mat<T, R, C>> matrix() const { return read<Mat<T, R, C>>(); }
  Value<Vec<T, R * C>> vector() const { return read<Vec<T, R * C>>(); }

 private:
  template <class M>
  void fill(const Value<M>& from) {
    const Handle* components = Access::components(from);
    for (std::size_t i = 0; i < R * C; ++i) set(i / C, i % C, Access::value<T>(components + i));
  }
  template <class M>
  Value<M> read() const {
    Components<M> components;
    for (std::size_t i = 0; i < R * C; ++i) components.set(i, get(i / C, i % C));
    return components.value();
  }

  std::conditional_t<Loops, LocalArray<T, R * C>, Var<Mat<T, R, C>>> cells_;
};

template <class T, std::size_t R, std::size_t C>
class HostTable {
 public:
  HostTable() = default;
  explicit HostTable(const Mat<T, R, C>& m) : cells_(m) {}
  explicit HostTable(const Vec<T, R>& v) requires(C == 1) : cells_{v.data} {}

  template <class I>
  T get(I row, std::size_t column) const {
    return cells_(static_cast<std::size_t>(row), column);
  }
  template <class I>
  void set(I row, std::size_t column, T value) {
    cells_(static_cast<std::size_t>(row), column) = value;
  }
  const Mat<T, R, C>& matrix() const { return cells_; }
  Vec<T, R * C> vector() const { return {cells_.data}; }

 private:
  Mat<T, R, C> cells_{};
};

/// Exponents beyond which a power of two, or its inverse, is subnormal or infinite.
template <class T>
inline constexpr int largest_exponent = std::numeric_limits<T>::max_exponent - 2;

template <class T, bool Loops>
struct InKernel {
  static constexpr bool traced = true;
  using Number = T;
  using Scalar = Value<T>;
  using Truth = Value<bool>;
  using Position = Index;
  template <class U>
  using Variable = Var<U>;
  template <std::size_t R, std::size_t C>
  using Matrix = Value<Mat<T, R, C>>;
  template <std::size_t N>
  using Vector = Value<Vec<T, N>>;
  template <std::size_t N>
  using Positions = Value<Vec<std::int64_t, N>>;
  template <class U, std::size_t R, std::size_t C>
  using Table = KernelTable<U, R, C, Loops>;

  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

  static Position position(const Position& index) { return index; }
  static Position position(std::size_t index) { return static_cast<std::int64_t>(index); }
  static Position choose_position(const Truth& condition, const Position& yes, const Position& no) {
    return select(condition, yes, no);
  }
  static Scalar choose(const Truth& condition, const Scalar& yes, const Scalar& no) {
    return select(condition, yes, no);
  }
  static Scalar absolute(const Scalar& x) { return abs(x); }
  static Scalar root(const Scalar& x) { return sqrt(x); }
  static Scalar sine(const Scalar& x) { return sin(x); }
  static Scalar cosine(const Scalar& x) { return cos(x); }
  static Scalar angle_of(const Scalar& y, const Scalar& x) { return atan2(y, x); }
  /// x * 2^(power * exponent of `size`), exact if no result is subnormal.
  static Scalar scaled(const Scalar& x, const Scalar& size, int power) {
    const Value<std::int32_t> exponent = clamp(ilogb(size), -largest_exponent<T>, largest_exponent<T>);
    return x * ldexp(Scalar(1), exponent * power);
  }

  /// body(i) for i from `low` up to, not including, `high`.
  template <class A, class B, class F>
  static void loop(const A& low, const B& high, F&& body) {
    if constexpr (Loops) {
      for_(low, high, body);
    } else {
      for (std::size_t i = low; i < high; ++i) body(i);
    }
  }
  /// Repeats the body, which sets `active`, until it stays false.
  template <class F>
  static void sweep(F&& body) {
    Var<bool> active = true;
    Var<std::int32_t> sweeps = 0;
    while_([&] { return Value(active) & (sweeps < max_sweeps); },
           [&] {
             active = false;
             sweeps += 1;
             body(active);
           });
  }
};

template <class T>
struct OnHost {
  static constexpr bool traced = false;
  using Number = T;
  using Scalar = T;
  using Truth = bool;
  using Position = std::int64_t;
  template <class U>
  using Variable = U;
  template <std::size_t R, std::size_t C>
  using Matrix = Mat<T, R, C>;
  template <std::size_t N>
  using Vector = Vec<T, N>;
  template <std::size_t N>
  using Positions = Vec<std::int64_t, N>;
  template <class U, std::size_t R, std::size_t C>
  using Table = HostTable<U, R, C>;

  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

  static Position position(std::size_t index) { return static_cast<Position>(index); }
  static Position choose_position(bool condition, Position yes, Position no) { return condition ? yes : no; }
  static T choose(bool condition, T yes, T no) { return condition ? yes : no; }
  static T absolute(T x) { return std::abs(x); }
  static T root(T x) { return std::sqrt(x); }
  static T sine(T x) { return std::sin(x); }
  static T cosine(T x) { return std::cos(x); }
  static T angle_of(T y, T x) { return std::atan2(y, x); }
  static T scaled(T x, T size, int power) {
    const int exponent = std::max(-largest_exponent<T>, std::min(std::ilogb(size), largest_exponent<T>));
    return x * std::ldexp(T(1), exponent * power);
  }

  template <class F>
  static void loop(std::size_t low, std::size_t high, F&& body) {
    for (std::size_t i = low; i < high; ++i) body(i);
  }
  template <class F>
  static void sweep(F&& body) {
    bool active = true;
    for (int sweeps = 0; active && sweeps < max_sweeps; ++sweeps) {
      active = false;
      body(active);
    }
  }
};

/// The calculus of a traced or host Vec or Mat of floats, and its type.
template <class A>
struct SmallOf {};
template <class A>
requires(TracedMat<A>&& has_floats<traced_t<A>>) struct SmallOf<A> {
  using type = traced_t<A>;
  using Calculus =
      InKernel<scalar_t<type>, (rows_of<type> > largest_unrolled || cols_of<type> > largest_unrolled)>;
};
template <class A>
requires(TracedVec<A>&& has_floats<traced_t<A>>) struct SmallOf<A> {
  using type = traced_t<A>;
  using Calculus = InKernel<scalar_t<type>, (component_count<type> > largest_unrolled)>;
};
template <std::floating_point T, std::size_t R, std::size_t C>
struct SmallOf<Mat<T, R, C>> {
  using type = Mat<T, R, C>;
  using Calculus = OnHost<T>;
};
template <std::floating_point T, std::size_t N>
struct SmallOf<Vec<T, N>> {
  using type = Vec<T, N>;
  using Calculus = OnHost<T>;
};

template <class A>
using small_t = typename SmallOf<std::remove_cvref_t<A>>::type;
template <class A>
using calculus_t = typename SmallOf<std::remove_cvref_t<A>>::Calculus;
/// A traced or host matrix, or vector, of floats.
template <class A>
concept SmallMatrix = is_mat<small_t<A>>;
template <class A>
concept SmallVector = is_vec<small_t<A>>;

/// An argument as W computes with it; elements and variables are read once.
template <class W, class A>
auto kind_of(A&& a) {
  static_assert(
      W::traced || !Traced<A>,
      "the matrix is a host number and the other argument is traced: write Value(matrix) for the matrix");
  if constexpr (W::traced) {
    return Value<small_t<A>>(static_cast<A&&>(a));
  } else {
    return small_t<A>(static_cast<A&&>(a));
  }
}

}  // namespace weir::detail
