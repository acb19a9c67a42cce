// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 32-bit and 64-bit numbers.
#include <gtest/gtest.h>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_float_table {

template <class T>
T sum(T a, T b) {
  return settle<T>(a + b, a, b);
}
template <class T>
T product(T a, T b) {
  return settle<T>(a * b, a, b);
}

/// V_MAD and V_MAC of GFX9: rounded after the product too; denormals are flushed at every step.
f32 product_and_sum(f32 a, f32 b, f32 c) {
  a = without_denormal(a), b = without_denormal(b), c = without_denormal(c);
  const f32 first = without_denormal(f32(a * b));
  return settle<f32>(without_denormal(f32(first + c)), a, b, c);
}

constexpr f32 pi = 3.14159274f;

void add_single(VectorTable& t) {
  const Form arithmetic{.modifiers = true, .modes = true};
  t.add<f32, f32, f32>("v_add_f32", [](f32 a, f32 b) { return sum(a, b); }, arithmetic);
  t.add<f32, f32, f32>("v_sub_f32", [](f32 a, f32 b) { return settle<f32>(a - b, a, b); }, arithmetic);
  t.add<f32, f32, f32>("v_subrev_f32", [](f32 a, f32 b) { return settle<f32>(b - a, a, b); }, arithmetic);
  t.add<f32, f32, f32>("v_mul_f32", [](f32 a, f32 b) { return product(a, b); }, arithmetic);
  t.add<f32, f32, f32>("v_mul_legacy_f32 v_mul_dx9_zero_f32",
                       [](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : product(a, b); });
  const auto fma = [](f32 a, f32 b, f32 c) { return fused(a, b, c); };
  t.add<f32, f32, f32, f32>("v_fma_f32", fma, arithmetic);
  t.add<f32, f32, f32, f32>("v_fmac_f32", fma, {.modifiers = true, .modes = true, .accumulates = true});
  t.add<f32, f32, f32>("v_fmaak_f32", [](f32 a, f32 b) { return fused(a, b, pi); },
                       {.text = "%d, %a, %b, 0x40490fdb"});
  t.add<f32, f32, f32>("v_fmamk_f32", [](f32 a, f32 b) { return fused(a, pi, b); },
                       {.text = "%d, %a, 0x40490fdb, %b"});
  const auto dx9 = [](f32 a, f32 b, f32 c) { return a == 0 || b == 0 ? c : fused(a, b, c); };
  t.add<f32, f32, f32, f32>("v_fma_legacy_f32 v_fma_dx9_zero_f32", dx9);
  t.add<f32, f32, f32, f32>("v_fmac_legacy_f32 v_fmac_dx9_zero_f32", dx9, {.accumulates = true});
}

void add_products_and_sums(VectorTable& t) {
  t.add<f32, f32, f32, f32>("v_mad_f32", product_and_sum);
  t.add<f32, f32, f32, f32>("v_mac_f32", product_and_sum, {.accumulates = true});
  t.add<f32, f32, f32>("v_madak_f32", [](f32 a, f32 b) { return product_and_sum(a, b, pi); },
                       {.text = "%d, %a, %b, 0x40490fdb"});
  t.add<f32, f32, f32>("v_madmk_f32", [](f32 a, f32 b) { return product_and_sum(a, pi, b); },
                       {.text = "%d, %a, 0x40490fdb, %b"});
  t.add<f32, f32, f32, f32>("v_mad_legacy_f32", [](f32 a, f32 b, f32 c) {
    a = without_denormal(a), b = without_denormal(b);
    return a == 0 || b == 0 ? settle<f32>(0.0f + without_denormal(c), c) : product_and_sum(a, b, c);
  });
}

void add_double(VectorTable& t) {
  const Form arithmetic{.modifiers = true, .modes = true};
  t.add<f64, f64, f64>("v_add_f64", [](f64 a, f64 b) { return sum(a, b); }, arithmetic);
  t.add<f64, f64, f64>("v_mul_f64", [](f64 a, f64 b) { return product(a, b); }, arithmetic);
  const auto fma = [](f64 a, f64 b, f64 c) { return fused(a, b, c); };
  t.add<f64, f64, f64, f64>("v_fma_f64", fma, arithmetic);
  t.add<f64, f64, f64, f64>("v_fmac_f64", fma, {.modifiers = true, .modes = true, .accumulates = true});
}

}  // namespace vector_float_table

std::vector<Case> float_rows(const Target& target) {
  using namespace vector_float_table;
  VectorTable t(target);
  add_single(t);
  add_products_and_sums(t);
  add_double(t);
  return t.take();
}

TEST(Rows, Floats) {
  check_table(float_rows);
}

}  // namespace weir::hipsim::test
