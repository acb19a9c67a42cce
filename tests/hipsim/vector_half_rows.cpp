// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 16-bit floating point.
#include <gtest/gtest.h>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_half_table {

f16 sum(f16 a, f16 b) {
  return settle<f16>(f64(a) + f64(b), a, b);
}
f16 product(f16 a, f16 b) {
  return settle<f16>(f64(a) * f64(b), a, b);
}
/// V_MAD and V_MAC: rounded after the product too.
f16 product_and_sum(f16 a, f16 b, f16 c) {
  return settle<f16>(f64(f16(f64(a) * f64(b))) + f64(c), a, b, c);
}
const f16 pi = from_bits<f16>(0x4248);

/// The last step of a division: signs and special cases of numerator and denominator.
f16 fixup(f16 quotient, f16 denominator, f16 numerator) {
  const u16 sign = (raw(denominator) ^ raw(numerator)) & 0x8000;
  const auto magnitude = [](f16 x) { return raw(x) & 0x7fff; };
  const u16 d = magnitude(denominator), n = magnitude(numerator);
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  if ((d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00)) return from_bits<f16>(0xfe00);
  if (d == 0 || n == 0x7c00) return from_bits<f16>(sign | 0x7c00);
  if (d == 0x7c00 || n == 0) return from_bits<f16>(sign);
  return from_bits<f16>(sign | magnitude(quotient));
}

}  // namespace vector_half_table

std::vector<Case> half_rows(const Target& target) {
  using namespace vector_half_table;
  VectorTable t(target);
  const Form two{.modifiers = true, .modes = true};
  t.add<f16, f16, f16>("v_add_f16", sum, two);
  t.add<f16, f16, f16>("v_sub_f16", [](f16 a, f16 b) { return settle<f16>(f64(a) - f64(b), a, b); }, two);
  t.add<f16, f16, f16>("v_subrev_f16", [](f16 a, f16 b) { return settle<f16>(f64(b) - f64(a), a, b); }, two);
  t.add<f16, f16, f16>("v_mul_f16", product, two);
  const auto fma = [](f16 a, f16 b, f16 c) { return fused(a, b, c); };
  // GFX9 has two forms of each; the legacy form clears the upper half of its result register.
  Form keeps{.modifiers = true, .modes = true, .clears_high = false};
  t.add<f16, f16, f16, f16>("v_fma_f16", fma, keeps);
  // The documents do not specify whether the product is flushed, so V_MAD runs in one mode only.
  t.add<f16, f16, f16, f16>("v_mad_f16", product_and_sum, {.modifiers = true, .clears_high = false});
  t.add<f16, f16, f16, f16>("v_div_fixup_f16", fixup, {.clears_high = false});
  t.add<f16, f16, f16, f16>("v_fma_legacy_f16", fma, two);
  t.add<f16, f16, f16, f16>("v_mad_legacy_f16", product_and_sum, {.modifiers = true});
  t.add<f16, f16, f16, f16>("v_div_fixup_legacy_f16", fixup);
  keeps.accumulates = true;
  t.add<f16, f16, f16, f16>("v_fmac_f16", fma, keeps);
  t.add<f16, f16, f16, f16>("v_mac_f16", product_and_sum,
                            {.modifiers = true, .accumulates = true, .clears_high = false});
  const Form last{.text = "%d, %a, %b, 0x4248", .clears_high = false},
      middle{.text = "%d, %a, 0x4248, %b", .clears_high = false};
  t.add<f16, f16, f16>("v_fmaak_f16", [](f16 a, f16 b) { return fused(a, b, pi); }, last);
  t.add<f16, f16, f16>("v_fmamk_f16", [](f16 a, f16 b) { return fused(a, pi, b); }, middle);
  t.add<f16, f16, f16>("v_madak_f16", [](f16 a, f16 b) { return product_and_sum(a, b, pi); }, last);
  t.add<f16, f16, f16>("v_madmk_f16", [](f16 a, f16 b) { return product_and_sum(a, pi, b); }, middle);
  return t.take();
}

TEST(Rows, Halves) {
  check_table(half_rows);
}

}  // namespace weir::hipsim::test
