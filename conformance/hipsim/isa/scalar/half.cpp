// SPDX-License-Identifier: Apache-2.0
// Scalar 16-bit floating point of GFX11.5 and GFX12. It reads the low halves of registers and clears the
// upper half of its result ("RDNA4" ISA document, 6.8).
#include "isa/numbers/half.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "isa/numbers/floating.hpp"
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {
namespace {

Half half_number(const Wave& w, const Operand& o) {
  return {o.kind == OperandKind::constant ? o.k16 : u16(scalar32(w, o))};
}
void write_half(Wave& w, const Instruction& i, Half h) {
  w.s[i.dst[0].index] = h.bits;
}

template <class F>
Operation half_unary(F) {
  return Operation{[](Wave& w, const Instruction& i) {
                     const Half a = half_number(w, i.src[0]);
                     write_half(w, i, half_result(w, F{}(to_double(a)), a, a, a));
                   },
                   1, FloatGroup::half_and_double};
}
template <class F>
Operation half_binary(F) {
  return Operation{[](Wave& w, const Instruction& i) {
                     write_half(w, i, F{}(w, half_number(w, i.src[0]), half_number(w, i.src[1])));
                   },
                   2, FloatGroup::half_and_double};
}
template <class F>
void compare(OperationTable& t, const char* name, F) {
  t.add("s_cmp_" + std::string(name) + "_f16", Operation{[](Wave& w, const Instruction& i) {
                                                           w.scc = F{}(to_double(half_number(w, i.src[0])),
                                                                       to_double(half_number(w, i.src[1])));
                                                         },
                                                         2, FloatGroup::half_and_double});
}

void define_arithmetic(OperationTable& t) {
  t.add("s_add_f16", half_binary([](const Wave& w, Half a, Half b) { return half_sum(w, a, b); }));
  t.add("s_sub_f16", half_binary([](const Wave& w, Half a, Half b) {
          return half_sum(w, a, is_nan(b) ? b : negated(b));
        }));
  t.add("s_mul_f16", half_binary([](const Wave& w, Half a, Half b) { return half_product(w, a, b); }));
  t.add({"s_min_f16", "s_min_num_f16"},
        half_binary([](const Wave& w, Half a, Half b) { return half_extreme(w, a, b, false); }));
  t.add({"s_max_f16", "s_max_num_f16"},
        half_binary([](const Wave& w, Half a, Half b) { return half_extreme(w, a, b, true); }));
  t.add("s_minimum_f16",
        half_binary([](const Wave& w, Half a, Half b) { return half_strict(w, a, b, false); }));
  t.add("s_maximum_f16",
        half_binary([](const Wave& w, Half a, Half b) { return half_strict(w, a, b, true); }));
  t.add("s_fmac_f16",
        Operation{[](Wave& w, const Instruction& i) {
                    const Half addend{u16(w.s[i.dst[0].index])};
                    write_half(w, i, half_fma(w, half_number(w, i.src[0]), half_number(w, i.src[1]), addend));
                  },
                  2, FloatGroup::half_and_double});
  t.add("s_ceil_f16", half_unary([](f64 x) { return std::ceil(x); }));
  t.add("s_floor_f16", half_unary([](f64 x) { return std::floor(x); }));
  t.add("s_trunc_f16", half_unary([](f64 x) { return std::trunc(x); }));
  t.add("s_rndne_f16", half_unary([](f64 x) { return HIPSIM_SIMD::round_to_even(x); }));
}

template <unsigned shift>
void widen(Wave& w, const Instruction& i) {
  const Operand& o = i.src[0];
  const Half h = shift ? Half{u16(scalar32(w, o) >> shift)} : half_number(w, o);
  w.s[i.dst[0].index] = is_nan(h) ? quiet_nan_f32 : std::bit_cast<u32>(f32(to_double(h)));
}

void define_conversions(OperationTable& t) {
  t.add("s_cvt_f16_f32", Operation{[](Wave& w, const Instruction& i) {
                                     const f64 x = std::bit_cast<f32>(scalar32(w, i.src[0]));
                                     write_half(w, i, half_result(w, x, {0}, {0}, {0}));
                                   },
                                   1, FloatGroup::half_and_double});
  t.add("s_cvt_pk_rtz_f16_f32", scalar(2, [](Wave& w, const Instruction& i) {
          const auto truncated = [&](unsigned k) {
            return u32(round_to_half(std::bit_cast<f32>(scalar32(w, i.src[k])), 3).bits);
          };
          w.s[i.dst[0].index] = truncated(0) | truncated(1) << 16;
        }));
  t.add("s_cvt_f32_f16", scalar(1, widen<0>));
  t.add("s_cvt_hi_f32_f16", scalar(1, widen<16>));
}

void define_comparisons(OperationTable& t) {
  define_float_comparisons([&](const char* name, auto f) { compare(t, name, f); });
}

}  // namespace

void define_scalar_half(OperationTable& t) {
  define_arithmetic(t);
  define_conversions(t);
  define_comparisons(t);
}

}  // namespace weir::hipsim
