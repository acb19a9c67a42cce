// SPDX-License-Identifier: Apache-2.0
// Dual instructions, data-parallel primitives, and moves between registers' lanes.
#include <gtest/gtest.h>

#include <algorithm>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace lane_table {

constexpr f32 pi = 3.14159274f;

/// One half of a dual instruction; the other half moves between registers that the row does not use.
void add_dual(VectorTable& t) {
  const auto first = [](const std::string& operands, bool accumulates = false) {
    return Form{.text = operands + " :: v_dual_mov_b32 v13, v7", .accumulates = accumulates};
  };
  const auto second = [](const std::string& operands) {
    return Form{.prefix = "v_dual_mov_b32 v13, v7 :: ", .text = operands};
  };
  const std::string two = "%d, %a, %b";
  t.add<f32, f32, f32>("v_dual_add_f32", [](f32 a, f32 b) { return settle<f32>(a + b, a, b); }, first(two));
  t.add<f32, f32, f32>("v_dual_sub_f32", [](f32 a, f32 b) { return settle<f32>(a - b, a, b); }, first(two));
  t.add<f32, f32, f32>(
      "v_dual_subrev_f32", [](f32 a, f32 b) { return settle<f32>(b - a, a, b); }, first(two));
  t.add<f32, f32, f32>("v_dual_mul_f32", [](f32 a, f32 b) { return settle<f32>(a * b, a, b); }, first(two));
  t.add<f32, f32, f32>(
      "v_dual_mul_dx9_zero_f32",
      [](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : settle<f32>(a * b, a, b); }, first(two));
  t.add<f32, f32, f32>(
      "v_dual_max_f32 v_dual_max_num_f32", [](Lane& l, f32 a, f32 b) { return extreme(l.ieee, true, a, b); },
      first(two));
  t.add<f32, f32, f32>(
      "v_dual_min_f32 v_dual_min_num_f32", [](Lane& l, f32 a, f32 b) { return extreme(l.ieee, false, a, b); },
      first(two));
  t.add<f32, f32, f32, f32>(
      "v_dual_fmac_f32", [](f32 a, f32 b, f32 c) { return fused(a, b, c); }, first(two, true));
  t.add<f32, f32, f32>(
      "v_dual_fmaak_f32", [](f32 a, f32 b) { return fused(a, b, pi); }, first(two + ", 0x40490fdb"));
  t.add<f32, f32, f32>(
      "v_dual_fmamk_f32", [](f32 a, f32 b) { return fused(a, pi, b); }, first("%d, %a, 0x40490fdb, %b"));
  t.add<u32, u32>("v_dual_mov_b32", [](u32 a) { return a; }, first("%d, %a"));
  t.add<u32, u32, u32>(
      "v_dual_cndmask_b32", [](Lane& l, u32 a, u32 b) { return l.carry ? b : a; }, first(two));
  t.add<u32, u32, u32>("v_dual_add_nc_u32", [](u32 a, u32 b) { return a + b; }, second(two));
  t.add<u32, u32, u32>("v_dual_lshlrev_b32", [](u32 n, u32 a) { return a << n % 32; }, second(two));
  t.add<u32, u32, u32>("v_dual_and_b32", [](u32 a, u32 b) { return a & b; }, second(two));
}

/// The lane that lane l reads under a DPP control; -1 if it has no source.
using From = int (*)(int lane, int lanes);
struct Control {
  const char* text;
  From from;
};
int in_row(int lane, int place) {
  return place < 0 || place > 15 ? -1 : lane / 16 * 16 + place;
}
const Control controls[] = {
    {"quad_perm:[3,1,0,2]",
     [](int l, int) {
       return l / 4 * 4 + (l % 4 == 0 ? 3 : l % 4 == 1 ? 1 : l % 4 == 2 ? 0 : 2);
     }},
    {"row_shl:3", [](int l, int) { return in_row(l, l % 16 + 3); }},
    {"row_shr:5", [](int l, int) { return in_row(l, l % 16 - 5); }},
    {"row_ror:7", [](int l, int) { return in_row(l, (l % 16 + 9) % 16); }},
    {"row_mirror", [](int l, int) { return in_row(l, 15 - l % 16); }},
    {"row_half_mirror", [](int l, int) { return l / 8 * 8 + 7 - l % 8; }},
    {"wave_shl:1", [](int l, int n) { return l + 1 < n ? l + 1 : -1; }},
    {"wave_shr:1", [](int l, int) { return l - 1; }},
    {"wave_rol:1", [](int l, int n) { return (l + 1) % n; }},
    {"wave_ror:1", [](int l, int n) { return (l + n - 1) % n; }},
    {"row_bcast:15", [](int l, int) { return l / 16 * 16 - 1; }},
    {"row_bcast:31", [](int l, int) { return l < 32 ? -1 : 31; }},
    {"row_newbcast:6", [](int l, int) { return in_row(l, 6); }},
    {"row_share:6", [](int l, int) { return in_row(l, 6); }},
    {"row_xmask:5", [](int l, int) { return in_row(l, l % 16 ^ 5); }},
};

/// v10 = v2 of the lane that `from` returns. Inactive lanes provide no value; with bound_ctrl they provide
/// zero.
void check_control(Machine& m, unsigned index, From from, bool zero, unsigned rows, unsigned banks) {
  for (const u64 exec : {~0ull, 0xf0ff77ff0f3fffe1ull}) {
    for (unsigned l = 0; l < m.wave.lanes; ++l) m.v(2, l) = 100 + l, m.v(10, l) = 7;
    m.set_exec(exec & m.wave.full);
    m.step(index);
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      const int source = from(int(l), int(m.wave.lanes));
      const bool there = source >= 0 && (exec >> source & 1);
      const bool written =
          (exec >> l & 1) && (rows >> l / 16 & 1) && (banks >> l / 4 % 4 & 1) && (there || zero);
      ASSERT_EQ(!written ? 7u
                : there  ? 100u + unsigned(source)
                         : 0u,
                m.v(10, l))
          << "lane " << l << ", EXEC " << exec;
    }
  }
  m.set_exec(m.wave.full);
}

}  // namespace lane_table

std::vector<Case> lane_rows(const Target& target) {
  using namespace lane_table;
  VectorTable t(target);
  add_dual(t);
  return t.take();
}

std::vector<Case> dpp_rows(const Target& target) {
  using namespace lane_table;
  std::vector<Case> cases;
  const auto add = [&](const Control& c, bool zero, unsigned rows, unsigned banks) {
    const std::string text = std::string("v_mov_b32_dpp v10, v2 ") + c.text +
                             " row_mask:" + std::to_string(rows) + " bank_mask:" + std::to_string(banks) +
                             (zero ? " bound_ctrl:1" : "");
    const From from = c.from;
    cases.push_back({"v_mov_b32", text,
                     [=](Machine& m, unsigned index) { check_control(m, index, from, zero, rows, banks); }});
  };
  for (const Control& c : controls) {
    const std::string_view text = c.text;
    const bool of_gfx9 = text.starts_with("wave_") || text.starts_with("row_bcast");
    const bool of_gfx90a = text.starts_with("row_newbcast");
    const bool of_gfx10 = text.starts_with("row_share") || text.starts_with("row_xmask");
    const bool newer9 = target.is("gfx90a") || target.is("gfx942") || target.is("gfx950");
    if ((of_gfx9 && target.generation > 9) || (of_gfx90a && !newer9) || (of_gfx10 && target.generation < 10))
      continue;
    add(c, false, 15, 15), add(c, true, 15, 15), add(c, true, 5, 6);
  }
  return cases;
}

TEST(Rows, Lanes) {
  check_table(lane_rows);
}
TEST(Rows, Dpp) {
  check_table(dpp_rows);
}

}  // namespace weir::hipsim::test
