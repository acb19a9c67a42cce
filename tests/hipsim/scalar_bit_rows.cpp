// SPDX-License-Identifier: Apache-2.0
// Scalar logic, shifts, bit fields, counts, and instructions that change EXEC.
#include <gtest/gtest.h>

#include "scalar_table.hpp"

namespace weir::hipsim::test {
namespace scalar_bit_table {

template <class T>
T both(T a, T b) {
  return a & b;
}
template <class T>
T either(T a, T b) {
  return a | b;
}
template <class T>
T differs(T a, T b) {
  return a ^ b;
}
template <class T>
T without(T a, T b) {
  return a & ~b;
}
template <class T>
T or_without(T a, T b) {
  return a | ~b;
}

/// SCC is set if the result is not zero.
template <class T, T f(T, T), bool inverted>
T tested(T a, T b, bool& scc) {
  const T result = inverted ? T(~f(a, b)) : f(a, b);
  scc = result != 0;
  return result;
}

/// EXEC becomes f(source, EXEC); the result is the old EXEC, or the new one.
template <class T, T f(T, T), bool inverted, bool turned, bool gives_new>
void add_exec(std::vector<Case>& cases, const std::string& names) {
  const auto check = [](Machine& m, unsigned index) {
    for (u64 n = 0; n < 20; ++n) {
      const u64 source = n == 0   ? 0
                         : n == 1 ? ~0ull
                                  : random_bits(n),
                exec = n == 2 ? source : random_bits(n + 50);
      m.wave.set64(2, source), m.set_exec(exec);
      m.step(index);
      const T a = T(turned ? exec : source), b = T(turned ? source : exec);
      const T now = inverted ? T(~f(a, b)) : f(a, b);
      const u64 left = sizeof(T) == 8 ? u64(now) : (exec & ~0xffffffffull) | now;
      EXPECT_EQ(left, m.s64(slot::exec)) << n;
      EXPECT_EQ(gives_new ? now : T(exec), T(m.s64(20))) << n;
      EXPECT_EQ(now != 0, m.wave.scc) << n;
    }
    m.set_exec(m.wave.full);
  };
  for (const std::string& name : words_of(names))
    cases.push_back({name,
                     name + " " + registers('s', 20, sizeof(T) / 4) + ", " + registers('s', 2, sizeof(T) / 4),
                     check});
}

template <class T>
void add_logic(ScalarTable& t, std::vector<Case>& cases, const std::string& s) {
  constexpr u32 width = sizeof(T) * 8;
  t.add<T, T, T>("s_and_" + s, tested<T, both<T>, false>);
  t.add<T, T, T>("s_or_" + s, tested<T, either<T>, false>);
  t.add<T, T, T>("s_xor_" + s, tested<T, differs<T>, false>);
  t.add<T, T, T>("s_nand_" + s, tested<T, both<T>, true>);
  t.add<T, T, T>("s_nor_" + s, tested<T, either<T>, true>);
  t.add<T, T, T>("s_xnor_" + s, tested<T, differs<T>, true>);
  t.add<T, T, T>("s_andn2_" + s + " s_and_not1_" + s, tested<T, without<T>, false>);
  t.add<T, T, T>("s_orn2_" + s + " s_or_not1_" + s, tested<T, or_without<T>, false>);
  t.add<T, T>("s_not_" + s, [](T a, bool& scc) { return scc = a != T(-1), T(~a); });
  t.add<T, T, u32>("s_lshl_" + s, [](T a, u32 n, bool& scc) {
    const T r = a << n % width;
    return scc = r != 0, r;
  });
  t.add<T, T, u32>("s_lshr_" + s, [](T a, u32 n, bool& scc) {
    const T r = a >> n % width;
    return scc = r != 0, r;
  });
  t.add<T, u32, u32>("s_bfm_" + s, [](u32 count, u32 offset, bool&) {
    T r = 0;
    for (u32 n = 0; n < count % width; ++n) r |= T(1) << n;
    return T(r << offset % width);
  });
  t.add<T, T>("s_brev_" + s, [](T a, bool&) {
    T r = 0;
    for (u32 n = 0; n < width; ++n) r |= (a >> n & 1) << (width - 1 - n);
    return r;
  });
  // Sets the four bits, or the one bit, of each quad with at least one active lane.
  t.add<T, T>("s_wqm_" + s, [](T a, bool& scc) {
    T r = 0;
    for (u32 n = 0; n < width; ++n)
      if (a >> n / 4 * 4 & 15) r |= T(1) << n;
    return scc = r != 0, r;
  });
  t.add<T, T>("s_quadmask_" + s, [](T a, bool& scc) {
    T r = 0;
    for (u32 n = 0; n < width / 4; ++n)
      if (a >> n * 4 & 15) r |= T(1) << n;
    return scc = r != 0, r;
  });
  t.add<u32, T>("s_bcnt0_i32_" + s, [](T a, bool& scc) {
    u32 r = 0;
    for (u32 n = 0; n < width; ++n) r += !(a >> n & 1);
    return scc = r != 0, r;
  });
  t.add<u32, T>("s_bcnt1_i32_" + s, [](T a, bool& scc) {
    u32 r = 0;
    for (u32 n = 0; n < width; ++n) r += a >> n & 1;
    return scc = r != 0, r;
  });
  t.add<u32, T>("s_ff0_i32_" + s, [](T a, bool&) {
    for (u32 n = 0; n < width; ++n)
      if (!(a >> n & 1)) return n;
    return ~0u;
  });
  t.add<u32, T>("s_ff1_i32_" + s + " s_ctz_i32_" + s, [](T a, bool&) {
    for (u32 n = 0; n < width; ++n)
      if (a >> n & 1) return n;
    return ~0u;
  });
  const std::string u = width == 32 ? "u32" : "u64",
                    signs = width == 32 ? "s_flbit_i32 s_cls_i32" : "s_flbit_i32_i64 s_cls_i32_i64";
  t.add<u32, T>("s_flbit_i32_" + s + " s_clz_i32_" + u, [](T a, bool&) {
    for (u32 n = 0; n < width; ++n)
      if (a >> (width - 1 - n) & 1) return n;
    return ~0u;
  });
  t.add<u32, T>(signs, [](T a, bool&) {
    for (u32 n = 1; n < width; ++n)
      if ((a >> (width - 1 - n) & 1) != a >> (width - 1)) return n;
    return ~0u;
  });
  t.add_update<T, u32>("s_bitset0_" + s, [](T d, u32 n, bool&) { return T(d & ~(T(1) << n % width)); });
  t.add_update<T, u32>("s_bitset1_" + s, [](T d, u32 n, bool&) { return T(d | T(1) << n % width); });

  const auto named = [&](const std::string& stem) { return "s_" + stem + "_saveexec_" + s; };
  add_exec<T, both<T>, false, false, false>(cases, named("and"));
  add_exec<T, either<T>, false, false, false>(cases, named("or"));
  add_exec<T, differs<T>, false, false, false>(cases, named("xor"));
  add_exec<T, both<T>, true, false, false>(cases, named("nand"));
  add_exec<T, either<T>, true, false, false>(cases, named("nor"));
  add_exec<T, differs<T>, true, false, false>(cases, named("xnor"));
  add_exec<T, without<T>, false, true, false>(cases, named("andn1") + " " + named("and_not0"));
  add_exec<T, without<T>, false, false, false>(cases, named("andn2") + " " + named("and_not1"));
  add_exec<T, or_without<T>, false, true, false>(cases, named("orn1") + " " + named("or_not0"));
  add_exec<T, or_without<T>, false, false, false>(cases, named("orn2") + " " + named("or_not1"));
  add_exec<T, without<T>, false, true, true>(cases, "s_andn1_wrexec_" + s + " s_and_not0_wrexec_" + s);
  add_exec<T, without<T>, false, false, true>(cases, "s_andn2_wrexec_" + s + " s_and_not1_wrexec_" + s);
}

/// The field of a at the offset and width packed in k, bit for bit, sign-extended.
template <class T, bool signs>
T field(T a, u32 k, bool& scc) {
  constexpr u32 width = sizeof(T) * 8;
  const u32 offset = k % width, count = k >> 16 & 127;
  T result = 0;
  for (u32 n = 0; n < width && count; ++n) {
    if (!signs && n >= count) break;
    const u32 from = offset + (n < count ? n : count - 1);
    if (from >= width && !signs) break;
    result |= (a >> (from < width ? from : width - 1) & 1) << n;
  }
  return scc = result != 0, result;
}

}  // namespace scalar_bit_table

std::vector<Case> scalar_bit_rows(const Target&) {
  using namespace scalar_bit_table;
  ScalarTable t;
  std::vector<Case> cases;
  add_logic<u32>(t, cases, "b32");
  add_logic<u64>(t, cases, "b64");
  t.add<i32, i32, u32>("s_ashr_i32",
                       [](i32 a, u32 n, bool& scc) { return scc = a >> n % 32 != 0, a >> n % 32; });
  t.add<i64, i64, u32>("s_ashr_i64",
                       [](i64 a, u32 n, bool& scc) { return scc = a >> n % 64 != 0, a >> n % 64; });
  t.add<u32, u32, u32>("s_bfe_u32", field<u32, false>);
  t.add<u32, u32, u32>("s_bfe_i32", field<u32, true>);
  t.add<u64, u64, u32>("s_bfe_u64", field<u64, false>);
  t.add<u64, u64, u32>("s_bfe_i64", field<u64, true>);
  t.add<u32, u32>("s_sext_i32_i8", [](u32 a, bool&) { return u32(i32(std::int8_t(a))); });
  t.add<u32, u32>("s_sext_i32_i16", [](u32 a, bool&) { return u32(i32(i16(a))); });
  t.add<u32, u32, u32>("s_pack_ll_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | b << 16; });
  t.add<u32, u32, u32>("s_pack_lh_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | b >> 16 << 16; });
  t.add<u32, u32, u32>("s_pack_hl_b32_b16", [](u32 a, u32 b, bool&) { return a >> 16 | b << 16; });
  t.add<u32, u32, u32>("s_pack_hh_b32_b16", [](u32 a, u32 b, bool&) { return a >> 16 | b >> 16 << 16; });
  t.add<u64, u32>("s_bitreplicate_b64_b32", [](u32 a, bool&) {
    u64 r = 0;
    for (unsigned n = 0; n < 64; ++n) r |= u64(a >> n / 2 & 1) << n;
    return r;
  });
  for (Case& c : t.take()) cases.push_back(std::move(c));
  return cases;
}

TEST(Rows, ScalarBits) {
  check_table(scalar_bit_rows);
}

}  // namespace weir::hipsim::test
