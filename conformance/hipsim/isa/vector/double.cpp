// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 64-bit numbers.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {
using C = const Context&;
}

void define_double(OperationTable& t) {
  t.add({"v_add_f64", "v_add_f64_pseudo"},
        wide<f64, f64, f64>([](f64 a, f64 b) { return settled(a + b, a, b); }));
  t.add("v_mul_f64", wide<f64, f64, f64>([](f64 a, f64 b) { return settled(a * b, a, b); }));
  t.add({"v_fma_f64", "v_fmac_f64"}, wide<f64, f64, f64, f64>([](f64 a, f64 b, f64 c) {
          return settled(__builtin_fma(a, b, c), a, b, c);
        }));
  t.add({"v_min_f64", "v_min_num_f64"},
        wide<f64, f64, f64>([](C c, f64 a, f64 b) { return extreme<false>(c.wave, a, b); }));
  t.add({"v_max_f64", "v_max_num_f64"},
        wide<f64, f64, f64>([](C c, f64 a, f64 b) { return extreme<true>(c.wave, a, b); }));
  t.add("v_minimum_f64", wide<f64, f64, f64>([](C c, f64 a, f64 b) {
          return a != a ? quieted(a) : b != b ? quieted(b) : extreme<false>(c.wave, a, b);
        }));
  t.add("v_maximum_f64", wide<f64, f64, f64>([](C c, f64 a, f64 b) {
          return a != a ? quieted(a) : b != b ? quieted(b) : extreme<true>(c.wave, a, b);
        }));
  t.add("v_floor_f64", wide<f64, f64>([](f64 a) { return settled(std::floor(a), a, a); }));
  t.add("v_ceil_f64", wide<f64, f64>([](f64 a) { return settled(std::ceil(a), a, a); }));
  t.add("v_trunc_f64", wide<f64, f64>([](f64 a) { return settled(std::trunc(a), a, a); }));
  t.add("v_rndne_f64", wide<f64, f64>([](f64 a) { return round_to_even(a); }));
  t.add("v_fract_f64", wide<f64, f64>([](f64 a) { return fraction(a); }));
  t.add("v_frexp_mant_f64",
        wide<f64, f64>([](C c, f64 a) { return mantissa_of(flushed(a, denormal_mode<f64>(c.wave))); }));
  t.add("v_frexp_exp_i32_f64",
        wide<i32, f64>([](C c, f64 a) { return exponent_of(flushed(a, denormal_mode<f64>(c.wave))); }));
  t.add("v_ldexp_f64", wide<f64, f64, i32>([](f64 a, i32 n) {
          return settled(std::ldexp(a, n < -5000 ? -5000 : n > 5000 ? 5000 : n), a, a);
        }));
  // The documents allow an error of 2^29 units in the last place; the simulator returns the nearest number.
  t.add("v_rcp_f64", wide<f64, f64>([](f64 a) { return settled(1.0 / a, a, a); }));
  t.add("v_rsq_f64", wide<f64, f64>([](f64 a) { return settled(1.0 / std::sqrt(a), a, a); }));
  t.add("v_sqrt_f64", wide<f64, f64>([](f64 a) { return settled(std::sqrt(a), a, a); }));
}

}  // namespace weir::hipsim::HIPSIM_SIMD
