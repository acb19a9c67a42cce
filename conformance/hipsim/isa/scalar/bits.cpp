// SPDX-License-Identifier: Apache-2.0
// Scalar logic, shifts and bit fields, and operations on EXEC.
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {
namespace {

constexpr u32 bits_field(u32 n) {
  return (1u << n) - 1;
}

template <class T>
void define_logic(OperationTable& t, const std::string& s) {
  t.add("s_and_" + s, scalar_test<T, T, T>([](T a, T b) { return a & b; }));
  t.add("s_or_" + s, scalar_test<T, T, T>([](T a, T b) { return a | b; }));
  t.add("s_xor_" + s, scalar_test<T, T, T>([](T a, T b) { return a ^ b; }));
  t.add("s_nand_" + s, scalar_test<T, T, T>([](T a, T b) { return T(~(a & b)); }));
  t.add("s_nor_" + s, scalar_test<T, T, T>([](T a, T b) { return T(~(a | b)); }));
  t.add("s_xnor_" + s, scalar_test<T, T, T>([](T a, T b) { return T(~(a ^ b)); }));
  for (const char* name : {"s_andn2_", "s_and_not1_"})
    t.add(name + s, scalar_test<T, T, T>([](T a, T b) { return T(a & ~b); }));
  for (const char* name : {"s_orn2_", "s_or_not1_"})
    t.add(name + s, scalar_test<T, T, T>([](T a, T b) { return T(a | ~b); }));
  t.add("s_not_" + s, scalar_test<T, T>([](T a) { return T(~a); }));
  t.add("s_wqm_" + s, scalar_test<T, T>([](T a) {
          T r = 0;
          for (unsigned n = 0; n < sizeof(T) * 8; n += 4)
            if (a >> n & 15) r |= T(15) << n;
          return r;
        }));
  t.add("s_quadmask_" + s, scalar_test<T, T>([](T a) {
          T r = 0;
          for (unsigned n = 0; n < sizeof(T) * 8; n += 4)
            if (a >> n & 15) r |= T(1) << (n / 4);
          return r;
        }));
  t.add("s_lshl_" + s, scalar_test<T, T, u32>([](T a, u32 n) { return T(a << (n & (sizeof(T) * 8 - 1))); }));
  t.add("s_lshr_" + s, scalar_test<T, T, u32>([](T a, u32 n) { return T(a >> (n & (sizeof(T) * 8 - 1))); }));
  t.add("s_bfm_" + s, scalar_keep<T, u32, u32>([](u32 width, u32 offset) {
          constexpr u32 top = sizeof(T) * 8 - 1;
          return T(((T(1) << (width & top)) - 1) << (offset & top));
        }));
  t.add("s_brev_" + s, scalar_keep<T, T>([](T a) {
          T r = 0;
          for (unsigned n = 0; n < sizeof(T) * 8; ++n) r |= (a >> n & 1) << (sizeof(T) * 8 - 1 - n);
          return r;
        }));
}

u32 count_leading(u64 a, unsigned bits) {
  return a ? u32(__builtin_clzll(a)) - (64 - bits) : ~0u;
}

void define_counts(OperationTable& t) {
  t.add("s_bcnt0_i32_b32", scalar_test<u32, u32>([](u32 a) { return u32(32 - __builtin_popcount(a)); }));
  t.add("s_bcnt1_i32_b32", scalar_test<u32, u32>([](u32 a) { return u32(__builtin_popcount(a)); }));
  t.add("s_bcnt0_i32_b64", scalar_test<u32, u64>([](u64 a) { return u32(64 - __builtin_popcountll(a)); }));
  t.add("s_bcnt1_i32_b64", scalar_test<u32, u64>([](u64 a) { return u32(__builtin_popcountll(a)); }));
  t.add("s_ff0_i32_b32", scalar_keep<u32, u32>([](u32 a) { return ~a ? u32(__builtin_ctz(~a)) : ~0u; }));
  t.add("s_ff0_i32_b64", scalar_keep<u32, u64>([](u64 a) { return ~a ? u32(__builtin_ctzll(~a)) : ~0u; }));
  t.add({"s_ff1_i32_b32", "s_ctz_i32_b32"},
        scalar_keep<u32, u32>([](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }));
  t.add({"s_ff1_i32_b64", "s_ctz_i32_b64"},
        scalar_keep<u32, u64>([](u64 a) { return a ? u32(__builtin_ctzll(a)) : ~0u; }));
  t.add({"s_flbit_i32_b32", "s_clz_i32_u32"},
        scalar_keep<u32, u32>([](u32 a) { return count_leading(a, 32); }));
  t.add({"s_flbit_i32_b64", "s_clz_i32_u64"},
        scalar_keep<u32, u64>([](u64 a) { return count_leading(a, 64); }));
  t.add({"s_flbit_i32", "s_cls_i32"},
        scalar_keep<u32, u32>([](u32 a) { return count_leading(i32(a) < 0 ? ~a : a, 32); }));
  t.add({"s_flbit_i32_i64", "s_cls_i32_i64"},
        scalar_keep<u32, u64>([](u64 a) { return count_leading(i64(a) < 0 ? ~a : a, 64); }));
  t.add("s_sext_i32_i8", scalar_keep<u32, u32>([](u32 a) { return u32(i32(std::int8_t(a))); }));
  t.add("s_sext_i32_i16", scalar_keep<u32, u32>([](u32 a) { return u32(i32(i16(a))); }));
}

void define_fields(OperationTable& t) {
  t.add("s_ashr_i32", scalar_test<i32, i32, u32>([](i32 a, u32 n) { return a >> (n & 31); }));
  t.add("s_ashr_i64", scalar_test<i64, i64, u32>([](i64 a, u32 n) { return a >> (n & 63); }));
  t.add("s_bfe_u32", scalar_test<u32, u32, u32>([](u32 a, u32 k) {
          const u32 offset = k & 31, width = k >> 16 & 127;
          return width >= 32 ? a >> offset : (a >> offset) & bits_field(width);
        }));
  t.add("s_bfe_i32", scalar_test<u32, u32, u32>([](u32 a, u32 k) {
          const u32 offset = k & 31, width = k >> 16 & 127, field = u32(i32(a) >> offset);
          if (width == 0) return 0u;
          return width >= 32 ? field : u32(i32(field << (32 - width)) >> (32 - width));
        }));
  t.add("s_bfe_u64", scalar_test<u64, u64, u32>([](u64 a, u32 k) {
          const u32 offset = k & 63, width = k >> 16 & 127;
          return width >= 64 ? a >> offset : (a >> offset) & ((1ull << width) - 1);
        }));
  t.add("s_bfe_i64", scalar_test<u64, u64, u32>([](u64 a, u32 k) {
          const u32 offset = k & 63, width = k >> 16 & 127;
          const u64 field = u64(i64(a) >> offset);
          if (width == 0) return u64(0);
          return width >= 64 ? field : u64(i64(field << (64 - width)) >> (64 - width));
        }));
  t.add("s_pack_ll_b32_b16", scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return (a & 0xffff) | b << 16; }));
  t.add("s_pack_lh_b32_b16",
        scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }));
  t.add("s_pack_hh_b32_b16",
        scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }));
  t.add("s_pack_hl_b32_b16", scalar_keep<u32, u32, u32>([](u32 a, u32 b) { return a >> 16 | b << 16; }));
  t.add("s_bitset0_b32", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[i.dst[0].index] &= ~(1u << (scalar32(w, i.src[0]) & 31));
        }));
  t.add("s_bitset1_b32", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[i.dst[0].index] |= 1u << (scalar32(w, i.src[0]) & 31);
        }));
  t.add("s_bitset0_b64", scalar(1, [](Wave& w, const Instruction& i) {
          w.set64(i.dst[0].index, w.mask_at(i.dst[0].index) & ~(1ull << (scalar32(w, i.src[0]) & 63)));
        }));
  t.add("s_bitset1_b64", scalar(1, [](Wave& w, const Instruction& i) {
          w.set64(i.dst[0].index, w.mask_at(i.dst[0].index) | 1ull << (scalar32(w, i.src[0]) & 63));
        }));
  t.add("s_bitreplicate_b64_b32", scalar_keep<u64, u32>([](u32 a) {
          u64 r = 0;
          for (unsigned n = 0; n < 32; ++n) r |= u64(a >> n & 1) * 3 << 2 * n;
          return r;
        }));
}

/// EXEC becomes f(source, EXEC); the result register takes the old EXEC (saveexec) or the new one (wrexec).
template <class T, bool new_value, class F>
void on_exec(OperationTable& t, const std::string& name, F) {
  t.add(name, scalar(1, [](Wave& w, const Instruction& i) {
          const T source = read_scalar<T>(w, i.src[0]);
          const T old = sizeof(T) == 8 ? T(w.mask_at(slot::exec)) : T(w.s[slot::exec]);
          const T now = F{}(source, old);
          Operand exec;
          exec.index = slot::exec;
          write_scalar<T>(w, i.dst[0], new_value ? now : old);
          write_scalar<T>(w, exec, now);
          w.scc = now != 0;
        }));
}

template <class T>
void define_exec(OperationTable& t, const std::string& s) {
  on_exec<T, false>(t, "s_and_saveexec_" + s, [](T a, T e) { return T(a & e); });
  on_exec<T, false>(t, "s_or_saveexec_" + s, [](T a, T e) { return T(a | e); });
  on_exec<T, false>(t, "s_xor_saveexec_" + s, [](T a, T e) { return T(a ^ e); });
  on_exec<T, false>(t, "s_nand_saveexec_" + s, [](T a, T e) { return T(~(a & e)); });
  on_exec<T, false>(t, "s_nor_saveexec_" + s, [](T a, T e) { return T(~(a | e)); });
  on_exec<T, false>(t, "s_xnor_saveexec_" + s, [](T a, T e) { return T(~(a ^ e)); });
  for (const char* name : {"s_andn1_saveexec_", "s_and_not0_saveexec_"})
    on_exec<T, false>(t, name + s, [](T a, T e) { return T(~a & e); });
  for (const char* name : {"s_andn2_saveexec_", "s_and_not1_saveexec_"})
    on_exec<T, false>(t, name + s, [](T a, T e) { return T(a & ~e); });
  for (const char* name : {"s_orn1_saveexec_", "s_or_not0_saveexec_"})
    on_exec<T, false>(t, name + s, [](T a, T e) { return T(~a | e); });
  for (const char* name : {"s_orn2_saveexec_", "s_or_not1_saveexec_"})
    on_exec<T, false>(t, name + s, [](T a, T e) { return T(a | ~e); });
  for (const char* name : {"s_andn1_wrexec_", "s_and_not0_wrexec_"})
    on_exec<T, true>(t, name + s, [](T a, T e) { return T(~a & e); });
  for (const char* name : {"s_andn2_wrexec_", "s_and_not1_wrexec_"})
    on_exec<T, true>(t, name + s, [](T a, T e) { return T(a & ~e); });
}

}  // namespace

void define_scalar_bits(OperationTable& t) {
  define_logic<u32>(t, "b32");
  define_logic<u64>(t, "b64");
  define_counts(t);
  define_fields(t);
  define_exec<u32>(t, "b32");
  define_exec<u64>(t, "b64");
}

}  // namespace weir::hipsim
