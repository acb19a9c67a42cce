// SPDX-License-Identifier: Apache-2.0
// Instructions of GFX950 and GFX12: bitwise functions of three operands by truth table, minima and maxima
// that propagate NaN, and transcendental functions of scalars.
#include "isa/code/operations.hpp"
#include "isa/memory/lane_memory.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/numbers/half.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {
using C = const Context&;

/// The bit of `table` that three bits select, for all bits of the sources.
u32 any_function(u32 table, u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if (!(table >> row & 1)) continue;
    result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return result;
}

template <bool Larger, class T>
T strict(const Wave& w, T a, T b) {
  return a != a ? quieted(a) : b != b ? quieted(b) : extreme<Larger>(w, a, b);
}
void define_strict(OperationTable& t) {
  t.add("v_minimum3_f32", single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return strict<false>(c.wave, strict<false>(c.wave, x, y), z);
        }));
  t.add("v_maximum3_f32", single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return strict<true>(c.wave, strict<true>(c.wave, x, y), z);
        }));
  t.add("v_minimummaximum_f32", single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return strict<true>(c.wave, strict<false>(c.wave, x, y), z);
        }));
  t.add("v_maximumminimum_f32", single<f32, f32, f32, f32>([](C c, f32 x, f32 y, f32 z) {
          return strict<false>(c.wave, strict<true>(c.wave, x, y), z);
        }));
}

void define_strict_halves(OperationTable& t) {
  t.add("v_minimum_f16",
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_strict(c.wave, a, b, false); }));
  t.add("v_maximum_f16",
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_strict(c.wave, a, b, true); }));
  t.add("v_minimum3_f16", wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_strict(c.wave, half_strict(c.wave, x, y, false), z, false);
        }));
  t.add("v_maximum3_f16", wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_strict(c.wave, half_strict(c.wave, x, y, true), z, true);
        }));
  t.add("v_minimummaximum_f16", wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_strict(c.wave, half_strict(c.wave, x, y, false), z, true);
        }));
  t.add("v_maximumminimum_f16", wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_strict(c.wave, half_strict(c.wave, x, y, true), z, false);
        }));
  t.add({"v_minmax_f16", "v_minmax_num_f16"}, wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_extreme(c.wave, half_extreme(c.wave, x, y, false), z, true);
        }));
  t.add({"v_maxmin_f16", "v_maxmin_num_f16"}, wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_extreme(c.wave, half_extreme(c.wave, x, y, true), z, false);
        }));
}

/// A function of one scalar half; clears the upper half of the result, like other scalar half operations.
template <class F>
void scalar_half_function(OperationTable& t, const char* name, F) {
  t.add(name, Operation{[](Wave& w, const Instruction& i) {
                          const Operand& o = i.src[0];
                          Half a{o.kind == OperandKind::constant ? o.k16 : u16(scalar32(w, o))};
                          if (o.absolute) a.bits &= 0x7fff;
                          if (o.negate) a = negated(a);
                          w.s[i.dst[0].index] = half_result(w, F{}(to_double(a)), a, a, a).bits;
                        },
                        1, FloatGroup::half_and_double});
}

/// A function of one scalar, with a scalar as result.
template <class F>
void scalar_function(OperationTable& t, const char* name, F) {
  t.add(name, Operation{[](Wave& w, const Instruction& i) {
                          const Operand& o = i.src[0];
                          f32 a = std::bit_cast<f32>(scalar32(w, o));
                          if (o.absolute) a = std::fabs(a);
                          if (o.negate) a = -a;
                          a = flushed(a, 0);
                          w.s[i.dst[0].index] = std::bit_cast<u32>(settled(flushed(F{}(a), 0), a, a));
                        },
                        1, FloatGroup::single});
}

}  // namespace

void define_later(OperationTable& t) {
  t.add("v_bitop3_b32", plain<u32, u32, u32, u32>([](C c, u32 x, u32 y, u32 z) {
          return any_function(u32(c.instruction.offset), x, y, z);
        }));
  t.add("v_bitop3_b16", plain<u16, u16, u16, u16>([](C c, u16 x, u16 y, u16 z) {
          return u16(any_function(u32(c.instruction.offset), x, y, z));
        }));
  define_strict(t);
  define_strict_halves(t);
  scalar_function(t, "v_s_rcp_f32", [](f32 a) { return 1.0f / a; });
  scalar_function(t, "v_s_rsq_f32", [](f32 a) { return f32(1.0 / std::sqrt(f64(a))); });
  scalar_function(t, "v_s_sqrt_f32", [](f32 a) { return std::sqrt(a); });
  scalar_function(t, "v_s_exp_f32", [](f32 a) { return f32(std::exp2(f64(a))); });
  scalar_function(t, "v_s_log_f32", [](f32 a) { return f32(std::log2(f64(a))); });
  scalar_half_function(t, "v_s_rcp_f16", [](f64 a) { return 1.0 / a; });
  scalar_half_function(t, "v_s_rsq_f16", [](f64 a) { return 1.0 / std::sqrt(a); });
  scalar_half_function(t, "v_s_sqrt_f16", [](f64 a) { return std::sqrt(a); });
  scalar_half_function(t, "v_s_exp_f16", [](f64 a) { return std::exp2(a); });
  scalar_half_function(t, "v_s_log_f16", [](f64 a) { return std::log2(a); });
}

}  // namespace weir::hipsim::HIPSIM_SIMD
