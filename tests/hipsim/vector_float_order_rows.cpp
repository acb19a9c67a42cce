// SPDX-License-Identifier: Apache-2.0
// Minima, maxima and medians of numbers, rounding to integers, and exponents.
#include <gtest/gtest.h>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_float_order_table {

template <class T>
T low(const Lane& l, T a, T b) {
  return extreme(l.ieee, false, a, b);
}
template <class T>
T high(const Lane& l, T a, T b) {
  return extreme(l.ieee, true, a, b);
}
/// The minimum and maximum of IEEE 754-2019, which return NaN if either source is NaN.
template <class T>
T strict(bool larger, T a, T b) {
  return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : extreme(false, larger, a, b);
}

template <class T>
void add_two(VectorTable& t, const std::string& type) {
  const auto name = [&](const std::string& stem) { return stem + "_" + type + " " + stem + "_num_" + type; };
  const Form form{.modifiers = true};
  t.add<T, T, T>(name("v_min"), [](Lane& l, T a, T b) { return low(l, a, b); }, form);
  t.add<T, T, T>(name("v_max"), [](Lane& l, T a, T b) { return high(l, a, b); }, form);
  t.add<T, T, T>("v_minimum_" + type, [](T a, T b) { return strict(false, a, b); }, form);
  t.add<T, T, T>("v_maximum_" + type, [](T a, T b) { return strict(true, a, b); }, form);
}

template <class T>
void add_three(VectorTable& t, const std::string& type) {
  const auto name = [&](const std::string& stem) { return stem + "_" + type + " " + stem + "_num_" + type; };
  const Form form{.modifiers = true, .high_open = true};
  t.add<T, T, T, T>(name("v_min3"), [](Lane& l, T a, T b, T c) { return low(l, low(l, a, b), c); }, form);
  t.add<T, T, T, T>(name("v_max3"), [](Lane& l, T a, T b, T c) { return high(l, high(l, a, b), c); }, form);
  t.add<T, T, T, T>(name("v_med3"), [](Lane& l, T a, T b, T c) { return median(l.ieee, a, b, c); }, form);
  t.add<T, T, T, T>(name("v_minmax"), [](Lane& l, T a, T b, T c) { return high(l, low(l, a, b), c); });
  t.add<T, T, T, T>(name("v_maxmin"), [](Lane& l, T a, T b, T c) { return low(l, high(l, a, b), c); });
  t.add<T, T, T, T>("v_minimum3_" + type,
                    [](T a, T b, T c) { return strict(false, strict(false, a, b), c); });
  t.add<T, T, T, T>("v_maximum3_" + type, [](T a, T b, T c) { return strict(true, strict(true, a, b), c); });
  t.add<T, T, T, T>("v_minimummaximum_" + type,
                    [](T a, T b, T c) { return strict(true, strict(false, a, b), c); });
  t.add<T, T, T, T>("v_maximumminimum_" + type,
                    [](T a, T b, T c) { return strict(false, strict(true, a, b), c); });
}

/// The nearest integer, ties to even. Computed from the binary digits, independently of the host's rounding
/// mode.
f64 nearest_even(f64 x) {
  const f64 down = std::floor(x), rest = x - down;
  const bool odd = std::fmod(down, 2) != 0;
  return std::copysign(rest > 0.5 || (rest == 0.5 && odd) ? down + 1 : down, x);
}

template <class T, f64 f(f64)>
void add_one(VectorTable& t, const std::string& name) {
  t.add<T, T>(name, [](T a) { return settle<T>(T(std::isfinite(f64(a)) ? f(f64(a)) : f64(a)), a); },
              {.modifiers = true});
}

f64 floor_of(f64 x) {
  return std::floor(x);
}
f64 ceil_of(f64 x) {
  return std::ceil(x);
}
f64 trunc_of(f64 x) {
  return std::trunc(x);
}

/// Numbers and their exponents. `exponent` is the type of the exponents of V_FREXP_EXP and V_LDEXP.
template <class T, class E>
void add_parts(VectorTable& t, const std::string& type, const std::string& exponent_type) {
  add_one<T, floor_of>(t, "v_floor_" + type);
  add_one<T, ceil_of>(t, "v_ceil_" + type);
  add_one<T, trunc_of>(t, "v_trunc_" + type);
  add_one<T, nearest_even>(t, "v_rndne_" + type);
  // The distance to the next smaller integer, always below one.
  t.add<T, T>("v_fract_" + type, [](T a) {
    if (!std::isfinite(f64(a))) return is_nan(a) ? quiet(a) : quiet_nan<T>();
    const T below_one = from_bits<T>(raw(T(1)) - 1);
    const T rest = T(a - T(std::floor(f64(a))));
    return rest < below_one ? rest : below_one;
  });
  t.add<T, T>("v_frexp_mant_" + type, [](T a) {
    int exponent = 0;
    if (!std::isfinite(f64(a))) return is_nan(a) ? quiet(a) : a;
    return T(std::frexp(f64(a), &exponent));
  });
  t.add<E, T>("v_frexp_exp_" + exponent_type + "_" + type, [](T a) {
    int exponent = 0;
    if (std::isfinite(f64(a)) && a != T(0)) std::frexp(f64(a), &exponent);
    return E(exponent);
  });
  t.add<T, T, E>("v_ldexp_" + type, [](T a, E n) {
    const int within = n < -9999 ? -9999 : n > 9999 ? 9999 : int(n);
    return settle<T>(sizeof(T) == 8   ? f128(std::ldexp(f64(a), within))
                     : sizeof(T) == 4 ? f128(std::ldexp(f32(a), within))
                                      : f128(std::ldexp(f64(a), within)),
                     a);
  });
}

}  // namespace vector_float_order_table

std::vector<Case> float_order_rows(const Target& target) {
  using namespace vector_float_order_table;
  VectorTable t(target);
  add_two<f32>(t, "f32");
  add_two<f64>(t, "f64");
  add_two<f16>(t, "f16");
  add_three<f32>(t, "f32");
  add_three<f16>(t, "f16");
  add_parts<f32, i32>(t, "f32", "i32");
  add_parts<f64, i32>(t, "f64", "i32");
  add_parts<f16, i16>(t, "f16", "i16");
  return t.take();
}

TEST(Rows, FloatsInOrder) {
  check_table(float_order_rows);
}

}  // namespace weir::hipsim::test
