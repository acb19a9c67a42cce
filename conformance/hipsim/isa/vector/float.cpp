// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 32-bit numbers: VOP1, VOP2 and VOP3 of AMD's "Instruct MI200", "CDNA3" and "RDNA3" ISA
// documents.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

using C = const Context&;

/// The transcendental units flush denormal inputs and outputs in every mode.
f32 unit_input(f32 x) {
  return flushed(x, 0);
}
f32 unit_output(f32 x, f32 from) {
  return settled(flushed(x, 0), from, from);
}

void define_basic(OperationTable& t) {
  t.add("v_add_f32", single<f32, f32, f32>([](f32 a, f32 b) { return settled(a + b, a, b); }));
  t.add("v_sub_f32", single<f32, f32, f32>([](f32 a, f32 b) { return settled(a - b, a, b); }));
  t.add("v_subrev_f32", single<f32, f32, f32>([](f32 a, f32 b) { return settled(b - a, a, b); }));
  t.add("v_mul_f32", single<f32, f32, f32>([](f32 a, f32 b) { return settled(a * b, a, b); }));
  t.add({"v_mul_legacy_f32", "v_mul_dx9_zero_f32"},
        single<f32, f32, f32>([](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : settled(a * b, a, b); }));
  const auto fused = [](f32 a, f32 b, f32 c) { return settled(__builtin_fmaf(a, b, c), a, b, c); };
  t.add({"v_fma_f32", "v_fmac_f32", "v_fmaak_f32", "v_fmamk_f32"}, single<f32, f32, f32, f32>(fused));
  t.add({"v_fma_legacy_f32", "v_fma_dx9_zero_f32", "v_fmac_legacy_f32", "v_fmac_dx9_zero_f32"},
        single<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) {
          return a == 0 || b == 0 ? c : settled(__builtin_fmaf(a, b, c), a, b, c);
        }));
  // Rounded twice, with denormal inputs and outputs flushed.
  t.add({"v_mad_legacy_f32", "v_mac_legacy_f32"}, single<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) {
          a = flushed(a, 0), b = flushed(b, 0), c = flushed(c, 0);
          if (a == 0 || b == 0) return settled(0.0f + c, c, c);
          return settled(flushed(flushed(a * b, 0) + c, 0), a, b, c);
        }));
  t.add({"v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32"},
        single<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) {
          const f32 product = flushed(flushed(a, 0) * flushed(b, 0), 0);
          return settled(flushed(product + flushed(c, 0), 0), a, b, c);
        }));
}

void define_order(OperationTable& t) {
  const auto smaller = [](C c, f32 a, f32 b) { return extreme<false>(c.wave, a, b); };
  const auto larger = [](C c, f32 a, f32 b) { return extreme<true>(c.wave, a, b); };
  t.add({"v_min_f32", "v_min_num_f32"}, single<f32, f32, f32>(smaller));
  t.add({"v_max_f32", "v_max_num_f32"}, single<f32, f32, f32>(larger));
  t.add({"v_min3_f32", "v_min3_num_f32"}, single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return extreme<false>(c.wave, extreme<false>(c.wave, x, y), z);
        }));
  t.add({"v_max3_f32", "v_max3_num_f32"}, single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return extreme<true>(c.wave, extreme<true>(c.wave, x, y), z);
        }));
  t.add({"v_minmax_f32", "v_minmax_num_f32"}, single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return extreme<true>(c.wave, extreme<false>(c.wave, x, y), z);
        }));
  t.add({"v_maxmin_f32", "v_maxmin_num_f32"}, single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return extreme<false>(c.wave, extreme<true>(c.wave, x, y), z);
        }));
  t.add({"v_med3_f32", "v_med3_num_f32"},
        single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) { return median(c.wave, x, y, z); }));
  // Unlike the other minima and maxima, these return NaN if either source is NaN (GFX12).
  t.add("v_minimum_f32", single<f32, f32, f32>([](C c, f32 a, f32 b) {
          return a != a ? quieted(a) : b != b ? quieted(b) : extreme<false>(c.wave, a, b);
        }));
  t.add("v_maximum_f32", single<f32, f32, f32>([](C c, f32 a, f32 b) {
          return a != a ? quieted(a) : b != b ? quieted(b) : extreme<true>(c.wave, a, b);
        }));
}

void define_rounding(OperationTable& t) {
  t.add("v_floor_f32", single<f32, f32>([](f32 a) { return settled(std::floor(a), a, a); }));
  t.add("v_ceil_f32", single<f32, f32>([](f32 a) { return settled(std::ceil(a), a, a); }));
  t.add("v_trunc_f32", single<f32, f32>([](f32 a) { return settled(std::trunc(a), a, a); }));
  t.add("v_rndne_f32", single<f32, f32>([](f32 a) { return round_to_even(a); }));
  t.add("v_fract_f32", single<f32, f32>([](f32 a) { return fraction(a); }));
  t.add("v_frexp_mant_f32",
        single<f32, f32>([](C c, f32 a) { return mantissa_of(flushed(a, denormal_mode<f32>(c.wave))); }));
  t.add("v_frexp_exp_i32_f32",
        single<i32, f32>([](C c, f32 a) { return exponent_of(flushed(a, denormal_mode<f32>(c.wave))); }));
  t.add("v_ldexp_f32", single<f32, f32, i32>([](f32 a, i32 n) {
          return settled(std::ldexp(a, n < -1000 ? -1000 : n > 1000 ? 1000 : n), a, a);
        }));
}

// The documents allow an error of one unit in the last place. The simulator returns the nearest number, so
// results do not depend on one chip's tables.
void define_transcendental(OperationTable& t) {
  t.add({"v_rcp_f32", "v_rcp_iflag_f32"}, single<f32, f32>([](f32 a) {
          a = unit_input(a);
          return unit_output(1.0f / a, a);
        }));
  t.add("v_rsq_f32", single<f32, f32>([](f32 a) {
          a = unit_input(a);
          return unit_output(f32(1.0 / std::sqrt(f64(a))), a);
        }));
  t.add("v_sqrt_f32", single<f32, f32>([](f32 a) {
          a = unit_input(a);
          return unit_output(std::sqrt(a), a);
        }));
  t.add({"v_exp_f32", "v_exp_legacy_f32"}, single<f32, f32>([](f32 a) {
          a = unit_input(a);
          return unit_output(f32(std::exp2(f64(a))), a);
        }));
  t.add({"v_log_f32", "v_log_legacy_f32"}, single<f32, f32>([](f32 a) {
          a = unit_input(a);
          return unit_output(f32(std::log2(f64(a))), a);
        }));
  // The argument is in turns; beyond 256 turns the result is that of 0.
  constexpr f64 turn = 6.283185307179586476925286766559;
  t.add("v_sin_f32", single<f32, f32>([](f32 a) {
          const f32 x = std::fabs(a) > 256.0f && std::isfinite(a) ? 0.0f : unit_input(a);
          const f64 rest = f64(x) - std::floor(f64(x) * 4 + 0.5) / 4;
          const int quarter = std::isfinite(x) ? int(std::floor(f64(x) * 4 + 0.5)) & 3 : 0;
          const f64 s = std::sin(rest * turn), c = std::cos(rest * turn);
          const f64 y = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
          return x == 0 ? x : unit_output(f32(y), a);
        }));
  t.add("v_cos_f32", single<f32, f32>([](f32 a) {
          const f32 x = std::fabs(a) > 256.0f && std::isfinite(a) ? 0.0f : unit_input(a);
          const f64 rest = f64(x) - std::floor(f64(x) * 4 + 0.5) / 4;
          const int quarter = std::isfinite(x) ? int(std::floor(f64(x) * 4 + 0.5)) & 3 : 0;
          const f64 s = std::sin(rest * turn), c = std::cos(rest * turn);
          const f64 y = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
          return unit_output(f32(y), a);
        }));
}

}  // namespace

void define_float(OperationTable& t) {
  define_basic(t);
  define_order(t);
  define_rounding(t);
  define_transcendental(t);
}

}  // namespace weir::hipsim::HIPSIM_SIMD
