// SPDX-License-Identifier: Apache-2.0
// Regions in plans: blocks, their contents, and refusals.
#include <gmock/gmock.h>

#include <array>
#include <set>

#include "ir/verifier.hpp"
#include "occurrences.hpp"
#include "passes/conflicts.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string one_f = "%f = const 1 : f32\n";

TEST(Region, BlocksBecomeTasksWithTheirNumbers) {
  const passes::Plan p =
      plan("region {\n" + fill("x", "0") + "} and {\n" + fill("y", "1") + fill("y", "2") + "}");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1", "loop@0.1"));
  EXPECT_THAT(p.region_blocks, ElementsAre(2u));
}

// proves R17 as far as the plan goes: each region is a separate join point, in program order
TEST(Region, StatementsMayStandBetweenRegions) {
  const passes::Plan p =
      plan(one_f + "store @z[%zero], %f\nregion {\n" + fill("x", "0") + "} and {\n" + fill("y", "1") + "}\n" +
           "store @z[%one], %f\n" + fill("z", "2") + "region {\n" + fill("x", "3") + "} and {\n" +
           fill("y", "4") + "} and {\n" + fill("z", "5") + "}\nstore @z[%zero], %f");
  EXPECT_THAT(shape(p), ElementsAre("serial", "loop@0.0", "loop@0.1", "serial", "loop", "loop@1.0",
                                    "loop@1.1", "loop@1.2", "serial"));
  EXPECT_THAT(p.region_blocks, ElementsAre(2u, 3u));
  for (const std::size_t outside : {0u, 3u, 4u, 8u}) {
    EXPECT_EQ(p.tasks[outside].block, -1);
    EXPECT_FALSE(p.tasks[outside].conflicts_are_meant);
  }
}

// proves R15 as far as the plan goes
TEST(Region, EmptyBlocksDisappear) {
  const passes::Plan p = plan("region {\n} and {\n" + fill("x", "0") +
                              "} and {\n%v = load @x[%zero] : f32\n} and {\n" + fill("y", "1") + "}");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_THAT(p.region_blocks, ElementsAre(2u));
}

// proves R15 as far as the plan goes
TEST(Region, OneBlockAloneIsNoRegion) {
  const passes::Plan p = plan("region {\n" + fill("x", "0") + "} and {\n}");
  EXPECT_THAT(shape(p), ElementsAre("loop"));
  EXPECT_THAT(p.region_blocks, IsEmpty());
}

// proves R15 as far as the plan goes
TEST(Region, AnEmptyRegionDoesNotEvenCutAStretch) {
  EXPECT_THAT(shape(plan(one_f + "store @x[%zero], %f\nregion {\n} and {\n}\nstore @y[%zero], %f")),
              ElementsAre("serial"));
  const std::string unread = "%v = load @z[%zero] : f32\n", store = "store @z[%zero], %f\n";
  for (const std::string& first : {unread, store})
    EXPECT_THAT(shape(plan(one_f + "store @x[%zero], %f\nregion {\n" + first + "} and {\n" +
                           "}\nstore @y[%zero], %f")),
                ElementsAre("serial"));
}

// proves R13 as far as the plan goes: all statements of a block belong to it
TEST(Region, PlainStatementsConditionalsAndSequentialLoopsStayInTheirBlock) {
  const passes::Plan p = plan(
      one_f + "%t = const true : bool\nregion {\nstore @x[%zero], %f\nif %t {\n  store @x[%one], %f\n}\n" +
      fill("x", "0") + "while {\n  yield %t\n} do {\n  store @x[%zero], %f\n  break\n}\n} and {\n" +
      "for %k = %zero to %len step %one {\n  store @y[%k], %f\n}\n}");
  EXPECT_THAT(shape(p), ElementsAre("serial@0.0", "loop@0.0", "serial@0.0", "serial@0.1"));
}

// proves R14 as far as the plan goes: the task that combines a reduction runs in the block that reduces
TEST(Region, HelperTasksStayInTheBlockThatCausedThem) {
  const passes::Plan p =
      plan("region {\n" + fill("x", "0") +
           "} and {\n%s = reduce.sum (%i) in (%zero to %len) : f32 {\n  %v = load @z[%i] : f32\n"
           "  yield %v\n}\nstore @y[%zero], %s\n}");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "reduce@0.1", "combine@0.1"));
}

// The body writes an array, so that nothing in the block has to use the result.
TEST(Region, StatementsJoinOnlyAReductionOfTheirOwnBlock) {
  const std::string sum =
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n  %v = load @z[%i] : f32\n  store @y[%i], %v\n"
      "  yield %v\n}\n";
  const std::string store = "store @x[%zero], %f\n";
  EXPECT_THAT(shape(plan(one_f + "region {\n" + sum + "} and {\n" + store + "}")),
              ElementsAre("reduce@0.0", "combine@0.0", "serial@0.1"));
}

TEST(Region, StatementsOfABlockDoNotJoinAReductionInFrontOfTheRegion) {
  const passes::Plan p = plan(
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n  %v = load @z[%i] : f32\n  yield %v\n}\n"
      "region {\nstore @y[%zero], %s\n} and {\n" +
      fill("x", "0") + "}");
  EXPECT_THAT(shape(p), ElementsAre("reduce", "combine", "serial@0.0", "loop@0.1"));
}

// proves R12 as far as the plan goes: a bound that is read on the device stays there
TEST(Region, ABoundReadOnTheDeviceTravelsThroughScratchInsideItsBlock) {
  const passes::Plan p =
      plan("region {\n" + fill("x", "0") +
           "} and {\n%c = load @n[%zero] : i32\n%high = cast %c : i64\n"
           "parallel (%i) in (%zero to %high) {\n  %f = const 1 : f32\n  store @y[%i], %f\n}\n}");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "serial@0.1", "loop@0.1"));
  EXPECT_EQ(p.tasks[2].high[0].kind, passes::HostBound::Kind::device);
  EXPECT_EQ(p.tasks[2].task.body.statements[1].op, ir::Op::scratch_load);
}

// proves R8 as far as the plan goes: sibling blocks write no slot in common
TEST(Region, BlocksShareNoSlotThatOneOfThemWrites) {
  const std::string block =
      "%v{} = load @z[%zero] : f32\nlocal ${} : f32[3]\nset ${}[%zero], %v{}\n"
      "parallel (%i{}) in (%zero to %len) {\n  %g{} = get ${}[%one] : f32\n  %h{} = add %g{}, %v{} : f32\n"
      "  store @A[%i{}], %h{}\n}\n";
  const auto with = [&](std::string tag, const std::string& array) {
    std::string text = block;
    for (std::size_t at; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, tag);
    return text.replace(text.find("@A"), 2, "@" + array);
  };
  const passes::Plan p = plan("region {\n" + with("0", "x") + "} and {\n" + with("1", "y") + "}");
  ASSERT_THAT(shape(p), ElementsAre("serial@0.0", "loop@0.0", "serial@0.1", "loop@0.1"));
  const auto slots = [&](std::size_t task) {
    std::set<std::uint64_t> offsets;
    for (const ir::Statement& s : p.tasks[task].task.body.statements) {
      if (s.op == ir::Op::scratch_store) offsets.insert(s.immediate / 64);
      for (const ir::Block& body : s.bodies) {
        for (const ir::Statement& inner : body.statements) {
          if (inner.op == ir::Op::scratch_store) offsets.insert(inner.immediate / 64);
        }
      }
    }
    return offsets;
  };
  for (const std::uint64_t line : slots(0)) EXPECT_FALSE(slots(2).contains(line)) << "cache line " << line;
}

// ---- conflicts

// proves R18: refused when the kernel is built, with both lines and the parameter
TEST(Conflict, TwoBlocksThatWriteOneArrayAreRefused) {
  EXPECT_EQ(refusal("region {\n" + fill("x", "0") + "} and {\n" + fill("x", "1") + "}"),
            "kernel 'k' (k.weir:3:3) cannot be built:\n"
            "  k.weir:17:3: @x is written in this stream_parallel block and written in another one at "
            "k.weir:22:3; blocks "
            "of one region run at the same time. Put one of them into a stream_region of its own, or write "
            "stream_parallel(conflicts_are_meant, ...) (in text: region allow_conflicts) if this is meant");
}

// proves R18
TEST(Conflict, ABlockThatReadsWhatASiblingWritesIsRefused) {
  EXPECT_THAT(refusal("region {\n" + copy("x", "y", "0") + "} and {\n" + fill("x", "1") + "}"),
              AllOf(HasSubstr("k.weir:22:3: @x is written in this"),
                    HasSubstr("and read in another one at k.weir:16:3")));
}

// proves R18
TEST(Conflict, AtomicsInTwoBlocksAreRefusedToo) {
  const std::string add =
      "parallel (%i) in (%zero to %len) {\n  %one_i = const 1 : i32\n"
      "  %old = atomic.add @n[%zero], %one_i : i32\n}\n";
  std::string other = add;
  for (const std::string name : {"%i", "%one_i", "%old"}) {
    for (std::size_t at = 0; (at = other.find(name, at)) != std::string::npos; at += name.size() + 1) {
      if (name == "%i" && other.compare(at, 3, "%in") == 0) continue;
      other.insert(at + name.size(), "2");
    }
  }
  EXPECT_THAT(refusal("region {\n" + add + "} and {\n" + other + "}"), HasSubstr("@n is written in this"));
}

// proves R18: opting out is explicit
TEST(Conflict, IsAllowedWhenTheRegionSaysSo) {
  const passes::Plan p =
      plan("region allow_conflicts {\n" + fill("x", "0") + "} and {\n" + fill("x", "1") + "}");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_THAT(p.alias_checks, IsEmpty());
}

TEST(Conflict, BlocksMayReadOneArray) {
  EXPECT_EQ(refusal("region {\n" + copy("z", "x", "0") + "} and {\n" + copy("z", "y", "1") + "}"), "");
}

TEST(Conflict, BlocksOfDifferentRegionsDoNotConflict) {
  EXPECT_EQ(refusal("region {\n" + fill("x", "0") + "} and {\n" + fill("y", "1") + "}\nregion {\n" +
                    fill("y", "2") + "} and {\n" + fill("x", "3") + "}"),
            "");
}

TEST(Conflict, LoopsOfOneBlockDoNotConflict) {
  EXPECT_EQ(refusal("region {\n" + fill("x", "0") + copy("x", "y", "1") + "} and {\n" + fill("z", "2") + "}"),
            "");
}

TEST(Conflict, ALocalVariableThatOneBlockSetsAndAnotherReadsIsRefused) {
  EXPECT_THAT(refusal("local $0 : f32\n" + one_f + "region {\nset $0, %f\n" + fill("x", "0") +
                      "} and {\n%g = get $0 : f32\n" + "store @y[%zero], %g\n}"),
              AllOf(HasSubstr("k.weir:17:1: the variable declared at k.weir:14:1 is written"),
                    HasSubstr("read in another one at k.weir:23:1")));
}

TEST(Conflict, ABlockThatDisappearsConflictsWithNobody) {
  EXPECT_EQ(refusal("region {\n" + fill("x", "0") + "} and {\n%v = load @x[%zero] : f32\n} and {\n" +
                    fill("y", "1") + "}"),
            "");
}

// proves R18: the launch checks for two parameters that are one array
TEST(Conflict, ParametersThatMayBeOneArrayAreCheckedAtLaunch) {
  const passes::Plan p = plan("region {\n" + copy("z", "x", "0") + "} and {\n" + fill("y", "1") + "}");
  std::vector<std::pair<int, int>> pairs;
  for (const auto& check : p.alias_checks) pairs.emplace_back(check.written, check.touched);
  // x with y, and y with z, which the other block reads; not x with z, since both are of one block.
  EXPECT_THAT(pairs, ElementsAre(std::pair(0, 1), std::pair(1, 2)));
  EXPECT_EQ(p.alias_checks[0].written_at.line, 17u);
  EXPECT_EQ(p.alias_checks[0].touched_at.line, 22u);
}

TEST(Conflict, ArraysThatBlocksOnlyReadNeedNoCheck) {
  const passes::Plan p = plan("region {\n" + copy("y", "x", "0") +
                              "} and {\n%v = load @z[%zero] : f32\n%t = gt %v, %v : bool\n"
                              "assert %t, \"m\"\n}");
  for (const auto& check : p.alias_checks) EXPECT_EQ(check.written, 0);
}

// The launch compares each pair once, also where one block only reads.
TEST(Conflict, EachPairOfParametersIsCheckedOnce) {
  const auto checks = [](const std::string& body) {
    std::vector<std::pair<int, int>> pairs;
    for (const auto& check : plan(body).alias_checks) pairs.emplace_back(check.written, check.touched);
    return pairs;
  };
  const std::string variable = "local $v : f32\n" + one_f + "set $v, %f\n";
  EXPECT_THAT(
      checks(variable + "region {\n%g = get $v : f32\nstore @x[%zero], %g\n} and {\n%h = get $v : f32\n"
                        "store @y[%zero], %h\n}"),
      ElementsAre(std::pair(0, 1)))
      << "blocks may read one variable";
  EXPECT_THAT(
      checks(one_f + "region {\n" + copy("z", "x", "0") + "} and {\n" + fill("y", "1") + "} and {\n" +
             "%one32 = const 1 : i32\nstore @n[%zero], %one32\n}"),
      ElementsAre(std::pair(0, 1), std::pair(0, 3), std::pair(1, 2), std::pair(1, 3), std::pair(3, 2)));
}

// The block that writes is named first, even if the other one begins the comparison.
TEST(Conflict, TheMessageNamesTheAccessesThatMeet) {
  EXPECT_THAT(
      refusal(one_f +
              "region {\n%v = load @x[%zero] : f32\nstore @y[%zero], %v\nstore @x[%one], %f\n} and {\n"
              "store @x[%zero], %f\n}"),
      AllOf(HasSubstr("k.weir:20:1: @x is written in this"),
            HasSubstr("and read in another one at k.weir:16:1;")));
  EXPECT_THAT(
      refusal(one_f + "region {\nstore @x[%zero], %f\n} and {\nstore @x[%one], %f\n%v = load @x[%zero] : "
                      "f32\nstore @y[%zero], %v\n}"),
      AllOf(HasSubstr("k.weir:16:1: @x is written in this"),
            HasSubstr("and read in another one at k.weir:19:1;")));
}

TEST(Conflict, OfEachRegionIsFound) {
  const std::string good = "region {\n" + fill("x", "0") + "} and {\n" + fill("y", "1") + "}\n";
  const std::string bad = "region {\n" + fill("x", "2") + "} and {\n" + fill("x", "3") + "}\n";
  EXPECT_EQ(refusal(good), "");
  EXPECT_NE(refusal(good + bad), "");
  const std::string rows = one_f + "%d = const 1 : f64\n";
  const passes::Plan p =
      plan(rows + good + "region {\nstore @m[%zero, %zero], %d\n} and {\nstore @m[%one, %zero], %d\n}\n");
  ASSERT_EQ(p.tasks.size(), 4u);
  EXPECT_THAT(p.tasks[1].divided, IsEmpty());
  EXPECT_THAT(p.tasks[2].divided, ElementsAre(4));
  EXPECT_THAT(p.tasks[3].divided, ElementsAre(4));
}

TEST(Conflict, AtMost50AreReported) {
  std::string variables, first, second;
  for (int i = 0; i < 60; ++i) {
    const std::string v = "$v" + std::to_string(i);
    variables += "local " + v + " : f32\n";
    first += "set " + v + ", %f\n";
    second += "set " + v + ", %f\n%g" + std::to_string(i) + " = get " + v + " : f32\n";
  }
  const std::string text = refusal(one_f + variables + "region {\n" + first + "} and {\n" + second + "}");
  EXPECT_EQ(occurrences(text, "\n  k.weir:"), 50u);
}

TEST(Conflict, TheErrorHasThePlaceOfTheFirst) {
  const auto error_of = [](const std::string& text) {
    try {
      passes::make_plan(ir::parse(text, "r.weir"), 8);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::invalid, "no error");
  };
  const std::string blocks =
      "local $v : f32\n%f = const 1 : f32\nregion {\nset $v, %f\n} and {\nset $v, %f\n%g = get "
      "$v : f32\n}\n}\n";
  const Error none = error_of("weir-ir 1\nkernel \"r\"\n{\n" + blocks);
  EXPECT_EQ(std::string(none.what()).substr(0, 27), "kernel 'r' cannot be built:");
  EXPECT_EQ(none.kernel(), "r");
  EXPECT_EQ(none.file(), "r.weir");
  EXPECT_EQ(none.line(), 7u);
  EXPECT_THAT(error_of("weir-ir 1 kernel \"r\" param @x : array<f32, 1>\n{\n" + blocks).what(),
              HasSubstr("kernel 'r' (r.weir:1:22) cannot be built:\n  r.weir:6:1: "));
  // A kernel that is built in memory has no places.
  ir::Kernel k = ir::parse("weir-ir 1\nkernel \"r\"\n  param @x : array<f32, 1>\n{\n}\n", "r.weir");
  k.parameters[0].location = {};
  k.files.clear();
  try {
    passes::refuse_kernel(k, {{ir::Location{}, "text"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 27), "kernel 'r' cannot be built:");
    EXPECT_EQ(error.file(), "");
  }
}

// ---- nesting

std::string verdict(const std::string& body) {
  try {
    ir::verify_or_throw(kernel(body));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// proves R16: both lines, and the remedy
TEST(Nesting, ABlockInsideABlockIsRefused) {
  EXPECT_EQ(verdict("region {\nregion {\n} and {\n}\n} and {\n}"),
            "k.weir:15:1: a stream_parallel block is inside the stream_parallel block at k.weir:14:1; "
            "blocks do not "
            "nest. Put them side by side in the kernel, or leave out the inner one");
}

// proves R16
TEST(Nesting, ABlockUnderAConditionIsRefused) {
  EXPECT_EQ(verdict("%t = const true : bool\nif %t {\nregion {\n} and {\n}\n}"),
            "k.weir:16:1: a stream_parallel block is inside 'if' at k.weir:15:1; blocks belong "
            "directly in the "
            "kernel. Move the outer statement into the block, or launch one kernel per iteration");
}

// proves R16
TEST(Nesting, ABlockInsideALoopIsRefused) {
  EXPECT_THAT(verdict("for %k = %zero to %len step %one {\nregion {\n} and {\n}\n}"),
              HasSubstr("k.weir:15:1: a stream_parallel block is inside 'for' at k.weir:14:1"));
}

TEST(Region, BlocksMayUseDifferentPartsOfAnArray) {
  const auto rows = [](const std::string& tag, const std::string& row) {
    return "parallel (%i" + tag + ") in (%zero to %len) {\n  %d" + tag + " = const 1 : f64\n  store @m[" +
           row + ", %i" + tag + "], %d" + tag + "\n}\n";
  };
  const auto part = [](const std::string& tag, const std::string& bounds, const std::string& index) {
    return "parallel (%i" + tag + ") in (" + bounds + ") {\n  %e" + tag + " = const 1 : f32\n  %n" + tag +
           " = add %i" + tag + ", " + index + " : i64\n  store @x[%n" + tag + "], %e" + tag + "\n}\n";
  };
  const std::string middle = "%c = arg @c : i64\n";
  EXPECT_EQ(refusal("region {\n" + rows("0", "%zero") + "} and {\n" + rows("1", "%one") + "}"), "");
  EXPECT_NE(refusal("region {\n" + rows("0", "%zero") + "} and {\n" + rows("1", "%zero") + "}"), "");
  EXPECT_EQ(refusal(middle + "region {\n" + part("0", "%zero to %c", "%one") + "} and {\n" +
                    part("1", "%c to %len", "%one") + "}"),
            "");
  EXPECT_NE(refusal(middle + "region {\n" + part("0", "%zero to %c", "%one") + "} and {\n" +
                    part("1", "%c to %len", "%zero") + "}"),
            "");
  EXPECT_NE(refusal(middle + "region {\n" + part("0", "%zero to %len", "%one") + "} and {\n" +
                    part("1", "%c to %len", "%one") + "}"),
            "");
  const passes::Plan p = plan("region {\n" + rows("0", "%zero") + "} and {\n" + rows("1", "%one") + "}");
  EXPECT_THAT(p.tasks.at(0).divided, ElementsAre(4));  // @m
}

// In the comments: the elements that each block writes.
TEST(Region, BlocksMayUseRangesThatAreApart) {
  const std::string values =
      "%h = arg @c : i64\n%two = const 2 : i64\n%fifty = const 50 : i64\n%h2 = mul %h, %two : i64\n"
      "%last = sub %len, %one : i64\n%minus = const -1 : i64\n%three = const 3 : i64\n%hundred = const 100 : "
      "i64\n"
      "%k = add %h, %one : i64\n%h2m1 = sub %h2, %one : i64\n%h2m2 = sub %h2, %two : i64\n%h3 = mul %h, "
      "%three : i64\n"
      "%sixty = const 60 : i64\n%h60 = add %h, %sixty : i64\n%h2n = add %h2, %len : i64\n%h2n2 = add %h2n, "
      "%len : i64\n";
  // Stores x[factor * i + offset] for i in `bounds`.
  const auto block = [](const std::string& tag, const std::string& bounds, const std::string& factor,
                        const std::string& offset) {
    return "parallel (%i" + tag + ") in (" + bounds + ") {\n  %e" + tag + " = const 1 : f32\n  %m" + tag +
           " = mul %i" + tag + ", " + factor + " : i64\n  %n" + tag + " = add %m" + tag + ", " + offset +
           " : i64\n  store @x[%n" + tag + "], %e" + tag + "\n}\n";
  };
  const auto verdict_of = [&](const std::array<std::string, 3>& first,
                              const std::array<std::string, 3>& second) {
    return refusal(values + "region {\n" + block("0", first[0], first[1], first[2]) + "} and {\n" +
                   block("1", second[0], second[1], second[2]) + "}");
  };
  const std::array<std::string, 3> fifty{"%zero to %fifty", "%one", "%zero"},
      below_h{"%zero to %h", "%one", "%zero"}, inner{"%one to %last", "%one", "%zero"},
      even{"%zero to %len", "%two", "%zero"};
  EXPECT_EQ(verdict_of(fifty, {"%zero to %fifty", "%one", "%fifty"}), "");  // [0, 50), [50, 100)
  EXPECT_NE(verdict_of(fifty, {"%zero to %fifty", "%one", "%one"}), "");    // [1, 51)
  EXPECT_EQ(verdict_of(below_h, {"%h2 to %len", "%one", "%zero"}), "");     // [0, h), [2h, n)
  EXPECT_EQ(verdict_of(below_h, {"%zero to %h", "%one", "%h"}), "");        // [h, 2h)
  EXPECT_NE(verdict_of({"%zero to %h2", "%one", "%zero"}, {"%h to %len", "%one", "%zero"}), "");
  EXPECT_EQ(verdict_of(inner, {"%last to %len", "%one", "%zero"}), "");  // [1, n - 1), [n - 1, n)
  EXPECT_EQ(verdict_of(inner, {"%zero to %one", "%one", "%zero"}), "");  // [0, 1)
  EXPECT_NE(verdict_of(inner, {"%zero to %two", "%one", "%zero"}), "");  // [0, 2)
  EXPECT_EQ(verdict_of({"%one to %fifty", "%minus", "%fifty"}, {"%fifty to %len", "%one", "%zero"}),
            "");  // [1, 49]
  EXPECT_NE(verdict_of({"%zero to %fifty", "%minus", "%fifty"}, {"%fifty to %len", "%one", "%zero"}),
            "");                                                       // [1, 50]
  EXPECT_EQ(verdict_of(even, {"%zero to %len", "%two", "%one"}), "");  // even, odd
  EXPECT_NE(verdict_of(even, {"%zero to %len", "%two", "%two"}), "");
  EXPECT_NE(verdict_of(even, {"%zero to %len", "%h2", "%zero"}), "");  // a product of two values
  EXPECT_NE(verdict_of({"%zero to %h", "%one", "%zero"}, {"%last to %len", "%one", "%zero"}),
            "");  // h unknown
  // With k = h + 1: a range has at least one element, so h is at least 1.
  const auto from = [](const std::string& offset) {
    return std::array<std::string, 3>{"%zero to %h", "%one", offset};
  };
  EXPECT_EQ(verdict_of(below_h, from("%h2m1")), "");                          // [2h - 1, 3h - 1)
  EXPECT_NE(verdict_of(below_h, from("%h2m2")), "");                          // [2h - 2, 3h - 2)
  EXPECT_EQ(verdict_of({"%one to %k", "%one", "%zero"}, from("%h2")), "");    // [1, h], [2h, 3h)
  EXPECT_NE(verdict_of({"%one to %k", "%one", "%zero"}, from("%h2m1")), "");  // [2h - 1, 3h - 1)
  EXPECT_NE(verdict_of({"%zero to %k", "%one", "%zero"}, from("%h")), "");    // [0, h], [h, 2h)
  EXPECT_EQ(verdict_of(below_h, from("%h3")), "");                            // [3h, 4h)
  EXPECT_EQ(verdict_of({"%zero to %len", "%one", "%zero"}, {"%zero to %h", "%minus", "%h2n"}), "");
  EXPECT_EQ(verdict_of(below_h, {"%zero to %len", "%minus", "%h2n2"}), "");
  // Indices with a factor are as far apart as their loops.
  const std::array<std::string, 3> low3{"%zero to %h", "%three", "%zero"},
      fifty3{"%zero to %fifty", "%three", "%zero"};
  EXPECT_EQ(verdict_of(low3, {"%h to %len", "%three", "%zero"}), "");
  EXPECT_EQ(verdict_of({"%h to %len", "%three", "%zero"}, low3), "");
  EXPECT_NE(verdict_of(low3, {"%zero to %len", "%three", "%zero"}), "");
  EXPECT_NE(verdict_of({"%zero to %k", "%three", "%zero"}, {"%h to %len", "%three", "%zero"}), "");
  EXPECT_EQ(verdict_of(fifty3, {"%fifty to %hundred", "%three", "%zero"}), "");
  EXPECT_EQ(verdict_of({"%fifty to %hundred", "%three", "%zero"}, fifty3), "");
  EXPECT_EQ(verdict_of(fifty3, {"%hundred to %len", "%three", "%zero"}), "");
  EXPECT_NE(verdict_of(fifty3, {"%one to %hundred", "%three", "%zero"}), "");
  EXPECT_NE(verdict_of(fifty3, {"%h to %hundred", "%three", "%zero"}), "");
  EXPECT_NE(verdict_of(low3, {"%fifty to %len", "%three", "%zero"}), "");
  EXPECT_NE(verdict_of(fifty3, {"%h60 to %hundred", "%three", "%zero"}), "");
  EXPECT_EQ(verdict_of(below_h, {"%zero to %len", "%one", "%h3"}), "");  // [3h, 3h + n)
  EXPECT_NE(verdict_of({"%zero to %h", "%two", "%zero"}, {"%h to %len", "%two", "%zero"}),
            "");  // even factors wrap
}

}  // namespace
}  // namespace weir::test
