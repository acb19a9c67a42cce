// SPDX-License-Identifier: Apache-2.0
// The error record that generated code writes when an assert or a bounds check fails, and its reader on the
// host.
#include <thread>

#include "harness.hpp"

namespace weir::test {
namespace {

constexpr const char* asserting = R"(weir-ir 1
kernel "checked"
param @x: array<f32, 2>
param @r: array<f32, 2>
{
  %zero = const 0 : i64
  %fzero = const 0 : f32
  %h = extent @x, 0 : i64
  %w = extent @x, 1 : i64
  parallel (%i, %j) in (%zero to %h, %zero to %w) {
    %v = load @x[%i, %j] : f32
    %known = eq %v, %v : bool
    assert %known, "a number"
    %ok = ge %v, %fzero : bool
    assert %ok, "depth is not negative"
    %s = math.sqrt %v : f32
    store @r[%i, %j], %s
  }
}
)";

TEST(Assert, RecordsTheStatementAndTheIndices) {
  Code code(asserting);
  std::vector<float> x(12, 4.0f), r(12);
  x[7] = -1;
  code.site_base = 100;
  code.array("x", x.data(), {3, 4}).array("r", r.data(), {3, 4}).run();
  ASSERT_EQ(code.error.state, ir::ErrorRecord::complete);
  const ir::Statement* failed = ir::failure_site(code.program().tasks[0].body, code.error.site - 100);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->op, ir::Op::assert_);
  EXPECT_EQ(code.program().kernel.strings.at(failed->index), "depth is not negative");
  EXPECT_EQ(failed->location.line, 15u);
  EXPECT_EQ(code.error.index[0], 1);
  EXPECT_EQ(code.error.index[1], 3);
}

TEST(Assert, EndsOnlyTheIterationThatFails) {
  Code code(asserting);
  std::vector<float> x(12, 4.0f), r(12, -7.0f);
  x[7] = -1;
  code.array("x", x.data(), {3, 4}).array("r", r.data(), {3, 4}).run(3, 1);
  for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(r[i], i == 7 ? -7.0f : 2.0f) << i;
}

TEST(Assert, TheFirstFailureStays) {
  Code code(asserting);
  std::vector<float> x(12, -1.0f), r(12);
  code.error.state = ir::ErrorRecord::complete;
  code.error.site = 4711;
  code.array("x", x.data(), {3, 4}).array("r", r.data(), {3, 4}).run();
  EXPECT_EQ(code.error.site, 4711u);
}

TEST(Assert, OneOfManyThreadsWins) {
  Code code(asserting);
  std::vector<float> x(4000, -1.0f), r(4000);
  code.array("x", x.data(), {40, 100}).array("r", r.data(), {40, 100});
  std::vector<std::jthread> threads;
  for (std::uint64_t k = 0; k < 4; ++k) threads.emplace_back([&, k] { code.run_blocks(4, k, k + 1); });
  threads.clear();
  EXPECT_EQ(code.error.state, ir::ErrorRecord::complete);
  EXPECT_EQ(code.error.index[1] % 100, code.error.index[1]);
}

TEST(Assert, ThatHoldsLeavesTheRecordFree) {
  Code code(asserting);
  std::vector<float> x(12, 1.0f), r(12);
  code.array("x", x.data(), {3, 4}).array("r", r.data(), {3, 4}).run();
  EXPECT_EQ(code.error.state, ir::ErrorRecord::free);
}

constexpr const char* shifted = R"(weir-ir 1
kernel "shifted" check_bounds
param @x: array<i32, 2>
param @r: array<i32, 2>
param @by: i64
{
  %zero = const 0 : i64
  %h = extent @r, 0 : i64
  %w = extent @r, 1 : i64
  %by = arg @by : i64
  parallel (%i, %j) in (%zero to %h, %zero to %w) {
    %k = add %j, %by : i64
    %v = load @x[%i, %k] : i32
    store @r[%i, %j], %v
  }
}
)";

TEST(Bounds, RecordTheArrayTheIndexAndTheExtents) {
  for (std::int64_t by : {std::int64_t{1}, std::int64_t{-1}}) {
    Code code(shifted);
    std::vector<std::int32_t> x(6, 5), r(6, -1);
    code.array("x", x.data(), {2, 3}).array("r", r.data(), {2, 3}).scalar("by", by).run();
    ASSERT_EQ(code.error.state, ir::ErrorRecord::complete);
    const ir::Statement* failed = ir::failure_site(code.program().tasks[0].body, code.error.site);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->op, ir::Op::load);
    EXPECT_EQ(code.program().kernel.parameters.at(failed->index).name, "x");
    EXPECT_EQ(code.error.array_index[1], by > 0 ? 3 : -1);
    EXPECT_EQ(code.error.extent[0], 2);
    EXPECT_EQ(code.error.extent[1], 3);
    EXPECT_EQ(code.error.index[1], by > 0 ? 2 : 0);
  }
}

TEST(Bounds, CheckedAccessesInsideAreUntouched) {
  Code code(shifted);
  std::vector<std::int32_t> x{1, 2, 3, 4, 5, 6}, r(6);
  code.array("x", x.data(), {2, 3}).array("r", r.data(), {2, 3}).scalar("by", std::int64_t{0}).run(2, 1);
  EXPECT_EQ(code.error.state, ir::ErrorRecord::free);
  EXPECT_EQ(r, x);
}

TEST(Bounds, LocalArraysAreCheckedToo) {
  Code code(R"(weir-ir 1
kernel "local" check_bounds
param @at: array<i64, 1>
{
  %zero = const 0 : i64
  %n = extent @at, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $a : i32[8]
    %k = load @at[%i] : i64
    %v = get $a[%k] : i32
  }
}
)");
  std::vector<std::int64_t> at{0, 7, 8};
  code.array("at", at).run();
  ASSERT_EQ(code.error.state, ir::ErrorRecord::complete);
  EXPECT_EQ(ir::failure_site(code.program().tasks[0].body, code.error.site)->op, ir::Op::get);
  EXPECT_EQ(code.error.array_index[0], 8);
  EXPECT_EQ(code.error.extent[0], 8);
}

}  // namespace
}  // namespace weir::test
