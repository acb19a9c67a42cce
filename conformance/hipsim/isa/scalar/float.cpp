// SPDX-License-Identifier: Apache-2.0
// Scalar floating point, which GFX11.5 and GFX12 have.
#include <bit>
#include <cmath>
#include <string>

#include "isa/numbers/half.hpp"
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {
namespace {

constexpr f32 quiet_nan = std::bit_cast<f32>(quiet_nan_f32);

f32 number(const Wave& w, const Operand& o) {
  return std::bit_cast<f32>(scalar32(w, o));
}
/// True for signalling NaNs, which minima and maxima propagate, as in vector instructions.
bool signals(f32 x) {
  return x != x && !(std::bit_cast<u32>(x) & 0x400000);
}
void write(Wave& w, const Instruction& i, f32 x) {
  w.s[i.dst[0].index] = x != x ? quiet_nan_f32 : std::bit_cast<u32>(x);
}

template <class F>
void one(OperationTable& t, const char* name, F) {
  t.add(name, Operation{[](Wave& w, const Instruction& i) { write(w, i, F{}(number(w, i.src[0]))); }, 1,
                        FloatGroup::single});
}
template <class F>
void two(OperationTable& t, const char* name, F) {
  t.add(name, Operation{[](Wave& w, const Instruction& i) {
                          write(w, i, F{}(number(w, i.src[0]), number(w, i.src[1])));
                        },
                        2, FloatGroup::single});
}
template <class F>
void compare(OperationTable& t, const std::string& name, F) {
  t.add(name, Operation{[](Wave& w, const Instruction& i) {
                          w.scc = F{}(number(w, i.src[0]), number(w, i.src[1]));
                        },
                        2, FloatGroup::single});
}

}  // namespace

void define_scalar_float(OperationTable& t) {
  two(t, "s_add_f32", [](f32 a, f32 b) { return a + b; });
  two(t, "s_sub_f32", [](f32 a, f32 b) { return a - b; });
  two(t, "s_mul_f32", [](f32 a, f32 b) { return a * b; });
  for (const char* name : {"s_min_f32", "s_min_num_f32"})
    two(t, name, [](f32 a, f32 b) {
      if (signals(a) || signals(b)) return quiet_nan;
      return a != a ? b : b != b || a < b || (a == b && std::signbit(a)) ? a : b;
    });
  for (const char* name : {"s_max_f32", "s_max_num_f32"})
    two(t, name, [](f32 a, f32 b) {
      if (signals(a) || signals(b)) return quiet_nan;
      return a != a ? b : b != b || a > b || (a == b && !std::signbit(a)) ? a : b;
    });
  two(t, "s_minimum_f32", [](f32 a, f32 b) {
    return a != a || b != b ? quiet_nan : a < b || (a == b && std::signbit(a)) ? a : b;
  });
  two(t, "s_maximum_f32", [](f32 a, f32 b) {
    return a != a || b != b ? quiet_nan : a > b || (a == b && !std::signbit(a)) ? a : b;
  });
  t.add("s_fmac_f32", Operation{[](Wave& w, const Instruction& i) {
                                  write(w, i,
                                        std::fma(number(w, i.src[0]), number(w, i.src[1]),
                                                 std::bit_cast<f32>(w.s[i.dst[0].index])));
                                },
                                2, FloatGroup::single});
  const auto fused = [](Wave& w, const Instruction& i) {
    write(w, i, std::fma(number(w, i.src[0]), number(w, i.src[1]), number(w, i.src[2])));
  };
  t.add("s_fmaak_f32", Operation{fused, 3, FloatGroup::single});
  t.add("s_fmamk_f32", Operation{fused, 3, FloatGroup::single});
  one(t, "s_ceil_f32", [](f32 a) { return std::ceil(a); });
  one(t, "s_floor_f32", [](f32 a) { return std::floor(a); });
  one(t, "s_trunc_f32", [](f32 a) { return std::trunc(a); });
  one(t, "s_rndne_f32", [](f32 a) { return f32(std::nearbyint(a)); });
  t.add("s_cvt_f32_i32",
        Operation{[](Wave& w, const Instruction& i) { write(w, i, f32(i32(scalar32(w, i.src[0])))); }, 1,
                  FloatGroup::single});
  t.add("s_cvt_f32_u32",
        Operation{[](Wave& w, const Instruction& i) { write(w, i, f32(scalar32(w, i.src[0]))); }, 1,
                  FloatGroup::single});
  t.add("s_cvt_i32_f32", scalar(1, [](Wave& w, const Instruction& i) {
          const f32 a = number(w, i.src[0]);
          w.s[i.dst[0].index] = u32(a != a                ? 0
                                    : a <= -2147483648.0f ? INT32_MIN
                                    : a >= 2147483648.0f  ? INT32_MAX
                                                          : i32(a));
        }));
  t.add("s_cvt_u32_f32", scalar(1, [](Wave& w, const Instruction& i) {
          const f32 a = number(w, i.src[0]);
          w.s[i.dst[0].index] = !(a > 0) ? 0 : a >= 4294967296.0f ? ~0u : u32(a);
        }));
  define_float_comparisons(
      [&](const char* name, auto f) { compare(t, "s_cmp_" + std::string(name) + "_f32", f); });
}

}  // namespace weir::hipsim
