// SPDX-License-Identifier: Apache-2.0
// Quaternions x i + y j + z k + w as Vec<T, 4>{x, y, z, w}, of float or double, in kernels and on the host.
// Rotations are those of unit quaternions, right-handed and active: they turn vectors, not axes.
//
// Length is not checked: quaternion_normalize of 0 is NaN, and other lengths scale what they rotate. On the
// host the functions of angles, which need sin, cos and atan2, may differ from kernels in the last bits.
// Threads and errors: as in dsl/value.hpp; on the host nothing throws.
#pragma once

#include <weir/dsl/small_tables.hpp>

namespace weir {

namespace detail {

template <class A, std::size_t N>
concept SmallVectorOf = SmallVector<A> && component_count<small_t<A>>
== N;

/// The calculus of several arguments: traced if one of them is.
template <class T, class... A>
using joint_calculus_t = std::conditional_t<(Traced<A> || ...), InKernel<T, false>, OnHost<T>>;
template <class A, class... B>
using quaternion_calculus_t = joint_calculus_t<scalar_t<small_t<A>>, A, B...>;

template <class W>
typename W::Scalar euclidean_length(const typename W::Scalar& x, const typename W::Scalar& y,
                                    const typename W::Scalar& z, const typename W::Scalar& w) {
  return W::root(x * x + y * y + z * z + w * w);
}

/// Angles below it are so small that their sine equals them to rounding.
template <class T>
inline constexpr T small_angle = sizeof(T) == 4 ? T(0x1p-12) : T(0x1p-27);

}  // namespace detail

/// The Hamilton product: rotating by it rotates by `b` first.
template <class A, class B>
requires(detail::SmallVectorOf<A, 4>&& detail::SmallVectorOf<B, 4>) auto quaternion_product(A&& a, B&& b) {
  using W = detail::quaternion_calculus_t<A, B>;
  const auto p = detail::kind_of<W>(static_cast<A&&>(a));
  const auto q = detail::kind_of<W>(static_cast<B&&>(b));
  return typename W::template Vector<4>{p[3] * q[0] + p[0] * q[3] + p[1] * q[2] - p[2] * q[1],
                                        p[3] * q[1] - p[0] * q[2] + p[1] * q[3] + p[2] * q[0],
                                        p[3] * q[2] + p[0] * q[1] - p[1] * q[0] + p[2] * q[3],
                                        p[3] * q[3] - p[0] * q[0] - p[1] * q[1] - p[2] * q[2]};
}

/// (-x, -y, -z, w): the inverse rotation.
template <detail::SmallVectorOf<4> A>
auto quaternion_conjugate(A&& a) {
  using W = detail::calculus_t<A>;
  const auto q = detail::kind_of<W>(static_cast<A&&>(a));
  return typename W::template Vector<4>{-q[0], -q[1], -q[2], q[3]};
}

/// a / |a|; NaN for 0.
template <detail::SmallVectorOf<4> A>
auto quaternion_normalize(A&& a) {
  using W = detail::calculus_t<A>;
  using Scalar = typename W::Scalar;
  const auto q = detail::kind_of<W>(static_cast<A&&>(a));
  // Squares of scaled components neither overflow nor all vanish.
  const auto larger = [](const Scalar& x, const Scalar& y) { return W::choose(x < y, y, x); };
  const Scalar size =
      larger(larger(W::absolute(q[0]), W::absolute(q[1])), larger(W::absolute(q[2]), W::absolute(q[3])));
  const Scalar x = W::scaled(q[0], size, -1), y = W::scaled(q[1], size, -1), z = W::scaled(q[2], size, -1),
               w = W::scaled(q[3], size, -1);
  const Scalar length = detail::euclidean_length<W>(x, y, z, w);
  return typename W::template Vector<4>{x / length, y / length, z / length, w / length};
}

/// The vector turned by a unit quaternion: q v q*.
template <class A, class B>
requires(detail::SmallVectorOf<A, 4>&& detail::SmallVectorOf<B, 3>) auto quaternion_rotate(A&& a, B&& b) {
  using W = detail::quaternion_calculus_t<A, B>;
  const auto q = detail::kind_of<W>(static_cast<A&&>(a));
  const auto v = detail::kind_of<W>(static_cast<B&&>(b));
  const auto tx = 2 * (q[1] * v[2] - q[2] * v[1]);
  const auto ty = 2 * (q[2] * v[0] - q[0] * v[2]);
  const auto tz = 2 * (q[0] * v[1] - q[1] * v[0]);
  return typename W::template Vector<3>{v[0] + q[3] * tx + (q[1] * tz - q[2] * ty),
                                        v[1] + q[3] * ty + (q[2] * tx - q[0] * tz),
                                        v[2] + q[3] * tz + (q[0] * ty - q[1] * tx)};
}

/// The rotation about a unit axis by an angle in radians.
template <detail::SmallVectorOf<3> A, class B>
auto quaternion_from_axis_angle(A&& a, B&& b) {
  using W = detail::quaternion_calculus_t<A, B>;
  const auto axis = detail::kind_of<W>(static_cast<A&&>(a));
  const typename W::Scalar angle(static_cast<B&&>(b));
  const auto half_angle = angle / 2;
  const auto sine = W::sine(half_angle);
  return
      typename W::template Vector<4>{axis[0] * sine, axis[1] * sine, axis[2] * sine, W::cosine(half_angle)};
}

/// The 3 x 3 matrix that turns vectors as the unit quaternion does.
template <detail::SmallVectorOf<4> A>
auto quaternion_matrix(A&& a) {
  using W = detail::calculus_t<A>;
  const auto q = detail::kind_of<W>(static_cast<A&&>(a));
  const auto x = 2 * q[0], y = 2 * q[1], z = 2 * q[2];
  const auto xx = x * q[0], xy = x * q[1], xz = x * q[2], xw = x * q[3];
  const auto yy = y * q[1], yz = y * q[2], yw = y * q[3], zz = z * q[2], zw = z * q[3];
  return typename W::template Matrix<3, 3>{1 - (yy + zz), xy - zw, xz + yw, xy + zw,      1 - (xx + zz),
                                           yz - xw,       xz - yw, yz + xw, 1 - (xx + yy)};
}

/// The unit quaternion of a rotation matrix; of q and -q the one whose component of largest size is positive.
/// The method of Shepperd (Journal of Guidance and Control 1, 1978): it divides by that component only.
template <detail::SmallMatrix A>
auto quaternion_from_matrix(A&& a) {
  using W = detail::calculus_t<A>;
  using Scalar = typename W::Scalar;
  using M = detail::small_t<A>;
  static_assert(detail::rows_of<M> == 3 && detail::cols_of<M> == 3, "rotation matrices are 3 x 3");
  const auto m = detail::kind_of<W>(static_cast<A&&>(a));
  // 4 times the products of each two components, by sums and differences of entries.
  const Scalar xx = 1 + m(0, 0) - m(1, 1) - m(2, 2), yy = 1 - m(0, 0) + m(1, 1) - m(2, 2);
  const Scalar zz = 1 - m(0, 0) - m(1, 1) + m(2, 2), ww = 1 + m(0, 0) + m(1, 1) + m(2, 2);
  const Scalar xy = m(1, 0) + m(0, 1), xz = m(0, 2) + m(2, 0), yz = m(2, 1) + m(1, 2);
  const Scalar xw = m(2, 1) - m(1, 2), yw = m(0, 2) - m(2, 0), zw = m(1, 0) - m(0, 1);
  const typename W::Truth y_over_x = yy > xx, w_over_z = ww > zz;
  const Scalar of_xy = W::choose(y_over_x, yy, xx), of_zw = W::choose(w_over_z, ww, zz);
  const typename W::Truth second = of_zw > of_xy;
  const auto pick = [&](const Scalar& x, const Scalar& y, const Scalar& z, const Scalar& w) {
    return W::choose(second, W::choose(w_over_z, w, z), W::choose(y_over_x, y, x));
  };
  const Scalar divisor = 2 * W::root(pick(xx, yy, zz, ww));
  return typename W::template Vector<4>{pick(xx, xy, xz, xw) / divisor, pick(xy, yy, yz, yw) / divisor,
                                        pick(xz, yz, zz, zw) / divisor, pick(xw, yw, zw, ww) / divisor};
}

/// From unit quaternion a at t = 0 to b at t = 1 along the shorter arc, at constant speed.
template <class A, class B, class C>
requires(detail::SmallVectorOf<A, 4>&& detail::SmallVectorOf<B, 4>) auto quaternion_slerp(A&& a, B&& b,
                                                                                          C&& c) {
  using W = detail::quaternion_calculus_t<A, B, C>;
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  const auto p = detail::kind_of<W>(static_cast<A&&>(a));
  const auto q = detail::kind_of<W>(static_cast<B&&>(b));
  const Scalar t(static_cast<C&&>(c));
  const Scalar product = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
  const Scalar side = W::choose(product < 0, Scalar(-1), Scalar(1));
  const Scalar x = side * q[0], y = side * q[1], z = side * q[2], w = side * q[3];
  // Accurate for all angles, unlike acos of the product.
  const Scalar angle = 2 * W::angle_of(detail::euclidean_length<W>(x - p[0], y - p[1], z - p[2], w - p[3]),
                                       detail::euclidean_length<W>(x + p[0], y + p[1], z + p[2], w + p[3]));
  const Scalar sine = W::sine(angle), rest = 1 - t;
  const typename W::Truth small = angle < detail::small_angle<T>;
  const Scalar of_p = W::choose(small, rest, W::sine(rest * angle) / sine);
  const Scalar of_q = W::choose(small, t, W::sine(t * angle) / sine);
  return typename W::template Vector<4>{of_p * p[0] + of_q * x, of_p * p[1] + of_q * y,
                                        of_p * p[2] + of_q * z, of_p * p[3] + of_q * w};
}

}  // namespace weir
