// SPDX-License-Identifier: Apache-2.0
// Argument blocks, loop bounds known on the host, and a plan's description of a kernel.
#include <gmock/gmock.h>

#include "ir/evaluate.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = ir::TaskArgument::Kind;
using Bound = passes::HostBound::Kind;

// "array 1 @0+8": kind, parameter and index if applicable, offset and size.
std::vector<std::string> layout(const ir::Task& task) {
  static const char* const words[] = {"array",      "scratch",   "error", "extent", "scalar",
                                      "launch_key", "site_base", "print", "launch"};
  std::vector<std::string> out;
  for (const ir::TaskArgument& a : task.arguments) {
    std::string text = words[static_cast<std::size_t>(a.kind)];
    if (a.kind == Kind::array || a.kind == Kind::extent || a.kind == Kind::scalar)
      text += " " + std::to_string(a.parameter);
    if (a.kind == Kind::extent || a.kind == Kind::scalar) text += "." + std::to_string(a.index);
    out.push_back(text + " @" + std::to_string(a.offset) + "+" + std::to_string(a.size));
  }
  return out;
}

TEST(Arguments, HoldOnlyWhatTheTaskUses) {
  const passes::Plan p = plan(fill("y", "0"));
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("array 1 @0+8", "extent 0.0 @8+8"));
  EXPECT_EQ(p.tasks[0].task.argument_bytes, 16u);
}

TEST(Arguments, AreAMultipleOfSixteenBytes) {
  for (const int count : {1, 2, 17, 30}) {
    std::string text = "weir-ir 1\nkernel \"k\"\n", stores;
    for (int i = 0; i < count; ++i) {
      text += "  param @a" + std::to_string(i) + " : array<f32, 0>\n";
      stores += "store @a" + std::to_string(i) + "[], %f\n";
    }
    const ir::Kernel k = ir::parse(text + "{\n%f = const 1 : f32\n" + stores + "}\n", "k.weir");
    EXPECT_EQ(passes::make_plan(k, 8).tasks.at(0).task.argument_bytes, (count * 8u + 15u) / 16u * 16u);
  }
}

TEST(Arguments, AddressesTakeSixteenBytesWhereTheDeviceBindsBuffers) {
  const passes::Plan p = passes::make_plan(kernel(fill("y", "0")), 16);
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("array 1 @0+16", "extent 0.0 @16+8"));
  EXPECT_EQ(p.tasks[0].task.argument_bytes, 32u);
}

TEST(Arguments, OtherAddressSizesAreRefused) {
  EXPECT_THROW(passes::make_plan(kernel(""), 4), Error);
}

TEST(Arguments, FieldsFallInSizeBehindTheAddresses) {
  ir::Kernel k = ir::parse(R"(weir-ir 1
kernel "k"
  param @b : bool
  param @h : f16
  param @v : vec<i32, 3>
  param @d : f64
  param @x : array<f64, 1>
{
  %zero = const 0 : i64
  %b = arg @b : bool
  %h = arg @h : f16
  %v0 = arg @v.0 : i32
  %v2 = arg @v.2 : i32
  %d = arg @d : f64
  %hf = cast %h : f64
  %v0f = cast %v0 : f64
  %v2f = cast %v2 : f64
  %s1 = select %b, %hf, %v0f : f64
  %s2 = add %s1, %v2f : f64
  %s3 = add %s2, %d : f64
  store @x[%zero], %s3
})");
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_THAT(layout(p.tasks[0].task),
              ElementsAre("array 4 @0+8", "scalar 3.0 @8+8", "scalar 2.0 @16+4", "scalar 2.2 @20+4",
                          "scalar 1.0 @24+2", "scalar 0.0 @26+1"));
}

TEST(Arguments, HigherRanksBringTheExtentsThatAddressesNeed) {
  const passes::Plan p = plan("%f = const 1 : f64\nstore @m[%zero, %one], %f");
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("array 4 @0+8", "extent 4.1 @8+8"));
}

TEST(Arguments, CheckedBoundsBringAllExtentsAndTheErrorRecord) {
  const passes::Plan p = plan("%f = const 1 : f64\nstore @m[%zero, %one], %f", "check_bounds");
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("array 4 @0+8", "error @8+8", "extent 4.0 @16+8",
                                                   "extent 4.1 @24+8", "site_base @32+4"));
  EXPECT_TRUE(p.uses_error_record);
}

TEST(Arguments, AssertsBringTheErrorRecord) {
  const passes::Plan p = plan("%a = arg @a : f32\n%t = gt %a, %a : bool\nassert %t, \"m\"");
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("error @0+8", "scalar 5.0 @8+4", "site_base @12+4"));
  EXPECT_TRUE(p.uses_error_record);
}

TEST(Arguments, PrintsBringTheBufferAndTheNumberOfTheLaunch) {
  const passes::Plan p = plan("%a = arg @a : f32\nprint \"{}\", %a");
  EXPECT_THAT(layout(p.tasks[0].task),
              ElementsAre("print @0+8", "scalar 5.0 @8+4", "site_base @12+4", "launch @16+4"));
  EXPECT_TRUE(p.prints);
  EXPECT_FALSE(p.uses_error_record);
}

TEST(Arguments, RandomNumbersBringTheLaunchKey) {
  const passes::Plan p = plan(
      "%k = launch_key : u64\n%u = cast %k : u32\n%r = philox.0 %u, %u, %u, %u, %u, %u : u32\n%f = cast %r : "
      "f32\n"
      "store @x[%zero], %f");
  EXPECT_THAT(layout(p.tasks[0].task), ElementsAre("array 0 @0+8", "launch_key @8+8"));
  EXPECT_TRUE(p.uses_launch_key);
}

TEST(Arguments, AKernelWithoutThemNeedsNeitherRecordNorKey) {
  const passes::Plan p = plan(fill("x", "0"));
  EXPECT_FALSE(p.uses_error_record);
  EXPECT_FALSE(p.uses_launch_key);
  EXPECT_FALSE(p.prints);
  EXPECT_EQ(p.scratch_bytes, 0u);
}

TEST(Arguments, TheTaskThatCombinesTakesScratchMemoryAlone) {
  const passes::Plan p = plan(
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n  %v = load @x[%i] : f32\n  yield %v\n}\n"
      "parallel (%j) in (%zero to %len) {\n  store @y[%j], %s\n}");
  EXPECT_THAT(layout(p.tasks[1].task), ElementsAre("scratch @0+8"));
}

// ---- bounds

passes::Plan loop_to(const std::string& before, const std::string& high) {
  return plan(before + "parallel (%i) in (%zero to " + high +
              ") {\n  %f = const 1 : f32\n  store @x[%i], %f\n}");
}

TEST(Bounds, ConstantsAreKnown) {
  const passes::Plan p = loop_to("%h = const -7 : i64\n", "%h");
  EXPECT_EQ(p.tasks[0].rank, 1);
  EXPECT_EQ(p.tasks[0].low[0].kind, Bound::constant);
  EXPECT_EQ(p.tasks[0].low[0].constant, 0);
  EXPECT_EQ(p.tasks[0].high[0].constant, -7);
}

TEST(Bounds, ExtentsAreKnown) {
  const passes::Plan p = loop_to("%h = extent @m, 1 : i64\n", "%h");
  EXPECT_EQ(p.tasks[0].high[0].kind, Bound::extent);
  EXPECT_EQ(p.tasks[0].high[0].parameter, 4);
  EXPECT_EQ(p.tasks[0].high[0].index, 1);
}

TEST(Bounds, ScalarsAreKnown) {
  const passes::Plan p = loop_to("%h = arg @c : i64\n", "%h");
  EXPECT_EQ(p.tasks[0].high[0].kind, Bound::scalar);
  EXPECT_EQ(p.tasks[0].high[0].parameter, 6);
}

struct Launch final : ir::HostValues {
  std::int64_t extent(std::uint32_t, std::uint32_t) const noexcept override { return 100; }
  std::uint64_t scalar(std::uint32_t, std::uint32_t) const noexcept override { return 7; }
};

TEST(Bounds, WhatIsMadeOfThemIsEvaluatedOnTheHost) {
  const passes::Plan p = loop_to("%c = arg @c : i64\n%h = div %len, %c : i64\n", "%h");
  ASSERT_EQ(p.tasks[0].high[0].kind, Bound::expression);
  const passes::HostExpression& e = p.expressions[p.tasks[0].high[0].expression];
  EXPECT_EQ(ir::evaluate(e.statements, e.result, Launch{}), 14u);
}

TEST(Bounds, OneExpressionServesAllLoopsThatShareIt) {
  const passes::Plan p = loop_to(
      "%h = sub %len, %one : i64\n" +
          std::string("parallel (%j) in (%zero to %h) {\n  %g = const 1 : f32\n  store @y[%j], %g\n}\n"),
      "%h");
  EXPECT_EQ(p.expressions.size(), 1u);
}

TEST(Bounds, WhatIsReadOnTheDeviceIsNotKnown) {
  const passes::Plan p =
      loop_to("%c = load @n[%zero] : i32\n%d = cast %c : i64\n%h = add %d, %len : i64\n", "%h");
  EXPECT_EQ(p.tasks[1].high[0].kind, Bound::device);
  EXPECT_THAT(p.expressions, IsEmpty());
}

TEST(Bounds, FunctionsThatOnlyTheDeviceRoundsAreNotEvaluatedOnTheHost) {
  const passes::Plan p = loop_to("%a = arg @a : f32\n%s = math.exp %a : f32\n%h = cast %s : i64\n", "%h");
  EXPECT_EQ(p.tasks[0].high[0].kind, Bound::device);
}

TEST(Bounds, TheHostEvaluatesUpTo64Statements) {
  const auto kind_of = [](int statements) {
    std::string body = "%v0 = arg @c : i64\n";
    for (int i = 1; i < statements; ++i)
      body += "%v" + std::to_string(i) + " = neg %v" + std::to_string(i - 1) + " : i64\n";
    return loop_to(body, "%v" + std::to_string(statements - 1)).tasks.back().high[0].kind;
  };
  EXPECT_EQ(kind_of(64), Bound::expression);
  EXPECT_EQ(kind_of(65), Bound::device);
}

TEST(Bounds, HaveOnePairPerDimension) {
  const passes::Plan p = plan(
      "%r = extent @m, 0 : i64\n%c = extent @m, 1 : i64\n"
      "parallel (%i, %j) in (%one to %r, %zero to %c) {\n  %f = const 1 : f64\n  store @m[%i, %j], %f\n}");
  EXPECT_EQ(p.tasks[0].rank, 2);
  EXPECT_EQ(p.tasks[0].low[0].constant, 1);
  EXPECT_EQ(p.tasks[0].high[0].index, 0);
  EXPECT_EQ(p.tasks[0].high[1].index, 1);
}

// ---- the rest

TEST(ParameterUse, SaysWhatIsReadAndWritten) {
  const passes::Plan p = plan(
      "%a = arg @a : f32\nparallel (%i) in (%zero to %len) {\n  %v = load @y[%i] : f32\n  %w = add %v, %a : "
      "f32\n"
      "  store @x[%i], %w\n  %o = const 1 : i32\n  %old = atomic.add @n[%zero], %o : i32\n}");
  std::string uses;
  for (const auto& use : p.parameters)
    uses += use.read ? (use.written ? "b" : "r") : (use.written ? "w" : "-");
  EXPECT_EQ(uses, "wr-b-r-");
}

TEST(Cost, GrowsWithTheWorkOfAnIteration) {
  const auto cost = [](const std::string& body) {
    return plan("parallel (%i) in (%zero to %len) {\n  %v = load @y[%i] : f32\n" + body +
                "  store @x[%i], %w\n}")
        .tasks[0]
        .task.cost;
  };
  const std::uint32_t light = cost("  %w = add %v, %v : f32\n");
  const std::uint32_t heavy = cost("  %w = math.pow %v, %v : f32\n");
  EXPECT_GE(light, 1u);
  EXPECT_GT(heavy, light);
}

TEST(Cost, CountsTheIterationsOfInnerLoops) {
  const auto cost = [](const std::string& trips) {
    return plan("%t = const " + trips +
                " : i64\nparallel (%i) in (%zero to %len) {\n  for %k = %zero to %t step %one {\n"
                "    %f = const 1 : f32\n    store @x[%i], %f\n  }\n}")
        .tasks[0]
        .task.cost;
  };
  EXPECT_GT(cost("1000"), 100 * cost("1"));
}

}  // namespace
}  // namespace weir::test
