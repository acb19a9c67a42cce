// SPDX-License-Identifier: Apache-2.0
// Scalar sums, products and moves: SOP1, SOP2 and SOPK of the ISA documents.
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {

u32 scalar32(const Wave& w, const Operand& o) {
  switch (o.kind) {
    case OperandKind::sgpr:
      return w.s[o.index];
    case OperandKind::constant:
      return o.k32;
    case OperandKind::scc:
      return w.scc;
    case OperandKind::vccz:
      return w.vcc() == 0;
    case OperandKind::execz:
      return w.exec() == 0;
    case OperandKind::vgpr:
      return w.v[o.index][0];
    case OperandKind::none:
      break;
  }
  return 0;
}

u64 scalar64(const Wave& w, const Operand& o) {
  if (o.kind == OperandKind::sgpr) return w.mask_at(o.index);
  if (o.kind == OperandKind::constant) return o.k64;
  return scalar32(w, o);
}

namespace {

void define_sums(OperationTable& t) {
  t.add({"s_add_u32", "s_add_co_u32"}, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
          scc = u32(a + b) < a;
          return a + b;
        }));
  t.add({"s_sub_u32", "s_sub_co_u32"}, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
          scc = b > a;
          return a - b;
        }));
  const auto add_signed = [](u32 a, u32 b, bool& scc) {
    const u32 r = a + b;
    scc = ((a ^ r) & (b ^ r)) >> 31;
    return r;
  };
  t.add({"s_add_i32", "s_add_co_i32"}, scalar_carry<u32, u32, u32>(add_signed));
  t.add({"s_sub_i32", "s_sub_co_i32"}, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
          const u32 r = a - b;
          scc = ((a ^ b) & (a ^ r)) >> 31;
          return r;
        }));
  t.add({"s_addc_u32", "s_add_co_ci_u32"}, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
          const u64 r = u64(a) + b + scc;
          scc = r >> 32;
          return u32(r);
        }));
  t.add({"s_subb_u32", "s_sub_co_ci_u32"}, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
          const u32 r = a - b - scc;
          scc = u64(b) + scc > a;
          return r;
        }));
  t.add("s_absdiff_i32", scalar_test<u32, i32, i32>([](i32 a, i32 b) {
          const u32 d = u32(a) - u32(b);
          return i32(d) < 0 ? 0 - d : d;
        }));
  t.add("s_abs_i32", scalar_test<u32, i32>([](i32 a) { return a < 0 ? 0 - u32(a) : u32(a); }));
  t.add("s_add_nc_u64", scalar_keep<u64, u64, u64>([](u64 a, u64 b) { return a + b; }));
  t.add({"s_add_u64"}, scalar_keep<u64, u64, u64>([](u64 a, u64 b) { return a + b; }));
  t.add({"s_sub_nc_u64", "s_sub_u64"}, scalar_keep<u64, u64, u64>([](u64 a, u64 b) { return a - b; }));
  const auto min_max = [&]<class T>(const char* smaller, const char* larger) {
    t.add(smaller, scalar_carry<T, T, T>([](T a, T b, bool& scc) {
            scc = a < b;
            return scc ? a : b;
          }));
    t.add(larger, scalar_carry<T, T, T>([](T a, T b, bool& scc) {
            scc = a > b;
            return scc ? a : b;
          }));
  };
  min_max.template operator()<u32>("s_min_u32", "s_max_u32");
  min_max.template operator()<i32>("s_min_i32", "s_max_i32");
  const auto shift_add = [&]<unsigned n>(const char* name) {
    t.add(name, scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) {
            const u64 r = (u64(a) << n) + b;
            scc = r >> 32;
            return u32(r);
          }));
  };
  shift_add.template operator()<1>("s_lshl1_add_u32");
  shift_add.template operator()<2>("s_lshl2_add_u32");
  shift_add.template operator()<3>("s_lshl3_add_u32");
  shift_add.template operator()<4>("s_lshl4_add_u32");
}

void define_products(OperationTable& t) {
  t.add("s_mul_i32", scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return a * b; }));
  t.add("s_mul_hi_u32", scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return u32(u64(a) * b >> 32); }));
  t.add("s_mul_hi_i32", scalar_keep<i32, i32, i32>([](i32 a, i32 b) { return i32(i64(a) * b >> 32); }));
  t.add("s_mul_u64", scalar_keep<u64, u64, u64>([](u64 a, u64 b) { return a * b; }));
}

u32 immediate16(u32 k) {
  return u32(i32(i16(k)));
}

void define_moves(OperationTable& t) {
  t.add("s_mov_b32", scalar_keep<u32, u32>([](u32 a) { return a; }));
  t.add("s_mov_b64", scalar_keep<u64, u64>([](u64 a) { return a; }));
  t.add("s_movk_i32", scalar_keep<u32, u32>([](u32 a) { return immediate16(a); }));
  t.add("s_cmov_b32", scalar(1, [](Wave& w, const Instruction& i) {
          if (w.scc) w.s[i.dst[0].index] = scalar32(w, i.src[0]);
        }));
  t.add("s_cmov_b64", scalar(1, [](Wave& w, const Instruction& i) {
          if (w.scc) w.set64(i.dst[0].index, scalar64(w, i.src[0]));
        }));
  t.add("s_cmovk_i32", scalar(1, [](Wave& w, const Instruction& i) {
          if (w.scc) w.s[i.dst[0].index] = immediate16(scalar32(w, i.src[0]));
        }));
  t.add("s_cselect_b32", scalar_carry<u32, u32, u32>([](u32 a, u32 b, bool& scc) { return scc ? a : b; }));
  t.add("s_cselect_b64", scalar_carry<u64, u64, u64>([](u64 a, u64 b, bool& scc) { return scc ? a : b; }));
  t.add({"s_addk_i32", "s_addk_co_i32"}, scalar(1, [](Wave& w, const Instruction& i) {
          const u32 a = w.s[i.dst[0].index], b = immediate16(scalar32(w, i.src[0])), r = a + b;
          w.scc = ((a ^ r) & (b ^ r)) >> 31;
          w.s[i.dst[0].index] = r;
        }));
  t.add("s_mulk_i32", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[i.dst[0].index] *= immediate16(scalar32(w, i.src[0]));
        }));
  t.add("s_movrels_b32", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[i.dst[0].index] = w.s[(i.src[0].index + w.s[slot::m0]) % slot::m0];
        }));
  t.add("s_movreld_b32", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[(i.dst[0].index + w.s[slot::m0]) % slot::m0] = scalar32(w, i.src[0]);
        }));
  t.add("s_movrels_b64", scalar(1, [](Wave& w, const Instruction& i) {
          w.set64(i.dst[0].index, w.mask_at((i.src[0].index + w.s[slot::m0]) % slot::m0));
        }));
  t.add("s_movreld_b64", scalar(1, [](Wave& w, const Instruction& i) {
          w.set64((i.dst[0].index + w.s[slot::m0]) % slot::m0, scalar64(w, i.src[0]));
        }));
}

}  // namespace

void define_scalar_arithmetic(OperationTable& t) {
  define_sums(t);
  define_products(t);
  define_moves(t);
}

}  // namespace weir::hipsim
