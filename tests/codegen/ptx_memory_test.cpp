// SPDX-License-Identifier: Apache-2.0
// PTX text of loads, stores, atomic operations and the block's memory, as launch assumptions allow it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx_kernels.hpp"
#include "ptx_text.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// proves R26 as far as generated code goes
TEST(PtxLoads, AreReadOnlyOnesOnlyWhereTheLaunchHasShownIt) {
  EXPECT_GT(compile(triad, everything).count("ld.global.nc"), 0u);
  EXPECT_EQ(compile(triad, nothing).count("ld.global.nc"), 0u);
  EXPECT_EQ(compile(triad, {.no_alias = false, .index32 = true, .aligned = true}).count("ld.global.nc"), 0u);
}

TEST(PtxLoads, OfAnArrayThatTheTaskWritesAreOrdinary) {
  const Ptx ptx = compile(saxpy, everything);
  EXPECT_GT(ptx.count("ld.global.nc"), 0u);      // x
  EXPECT_GT(ptx.count("ld.global.v4.b32"), 0u);  // y, read and written
}

TEST(PtxAccesses, AreSixteenBytesWideWhereRowsAreAligned) {
  const Ptx ptx = compile(triad, everything);
  EXPECT_EQ(ptx.count("ld.global.nc.v4.b32"), 2u);
  EXPECT_EQ(ptx.count("st.global.v4.b32"), 1u);
  EXPECT_EQ(ptx.object.entries[0].block_share, 4 * 256u);
}

TEST(PtxAccesses, OfSeveralRowsComeInPacketsOneBelowTheOther) {
  const Ptx ptx = compile(stencil, everything);
  EXPECT_EQ(ptx.count("st.global.v4.b32"), 2u);
  EXPECT_EQ(ptx.object.entries[0].block_share, 2 * 4 * 256u);
}

TEST(PtxAccesses, AreScalarWhereNothingIsKnownOfTheAddress) {
  const Ptx ptx = compile(triad, {.no_alias = true, .index32 = true, .aligned = false});
  EXPECT_EQ(ptx.count(".v4"), 0u);
  EXPECT_EQ(ptx.object.entries[0].block_share, 256u);
}

// Iterations may run in any order, so a packet's loads may precede its stores even if they overlap.
TEST(PtxAccesses, AreWideWithoutKnowingThatArraysAreDistinct) {
  EXPECT_EQ(compile(triad, {.no_alias = false, .index32 = false, .aligned = true}).count("ld.global.v4.b32"),
            2u);
}

TEST(PtxIndices, AreDividedInThirtyTwoBitsAndOutsideTheLoop) {
  // Without packets, threads stride over the loop with a grid of limited size.
  const Ptx ptx = compile(stencil, {.no_alias = true, .index32 = true, .aligned = false});
  EXPECT_EQ(ptx.object.entries[0].waves, 0u);
  const std::string entry = ptx.entry(0);
  EXPECT_THAT(entry, Not(HasSubstr("div.u64")));
  EXPECT_THAT(entry, Not(HasSubstr("rem.u64")));
  const std::size_t loop = entry.find("ld.global");
  EXPECT_EQ(entry.find("div.u32", loop), std::string::npos);
}

TEST(PtxIndices, OfWideAccessesGetAThreadEach) {
  for (const char* text : {triad, stencil}) {
    const Ptx ptx = compile(text, everything);
    EXPECT_EQ(ptx.object.entries[0].waves, codegen::CodeObject::every_block);
    EXPECT_THAT(ptx.entry(0), Not(HasSubstr("div.u64")));
  }
}

TEST(PtxAtomics, AreNativeAndOfTheDevice) {
  const Ptx ptx = compile(histogram, everything);
  EXPECT_THAT(ptx.text, testing::ContainsRegex("(atom|red)(\\.relaxed)?(\\.gpu)?\\.global\\.add\\.u32"));
  EXPECT_EQ(ptx.count(".sys."), 0u);
}

/// Updates of one element of `type`.
std::string narrow_atomic(const std::string& kind, const std::string& type) {
  return "weir-ir 1\nkernel \"narrow\"\nparam @x: array<" + type + ", 1>\nparam @v: array<" + type +
         ", 1>\n{\n  %zero = const 0 : i64\n  %n = extent @v, 0 : i64\n  parallel (%k) in (%zero to %n) {\n"
         "    %v = load @v[%k] : " +
         type + "\n    %old = atomic." + kind + " @x[%zero], %v : " + type + "\n  }\n}\n";
}

TEST(PtxAtomics, AddHalvesByTheInstructionAndUpdateOtherNarrowElementsInWords) {
  const std::string add = compile(narrow_atomic("add", "f16"), everything).text;
  EXPECT_THAT(add, testing::ContainsRegex("atom[a-z.]*add\\.noftz\\.f16"));
  EXPECT_THAT(add, Not(testing::ContainsRegex("atom[a-z.]*cas")));
  for (const char* type : {"i8", "u16", "f16"})
    EXPECT_THAT(compile(narrow_atomic("mul", type), everything).text,
                testing::ContainsRegex("atom[a-z.]*cas\\.b32"))
        << type;
  EXPECT_THAT(compile(narrow_atomic("or", "u8"), everything).text,
              testing::ContainsRegex("(atom|red)[a-z.]*or\\.b32"));
}

// The device flushes subnormal numbers to 0 in its atomic f32 addition.
TEST(PtxAtomics, OfF32KeepSubnormalNumbersUnlessFastMathIsAskedFor) {
  std::string text = R"(weir-ir 1
kernel "sums"
param @x: array<f32, 1>
param @i: array<i64, 1>
param @v: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @v, 0 : i64
  parallel (%k) in (%zero to %n) {
    %i = load @i[%k] : i64
    %v = load @v[%k] : f32
    %old = atomic.add @x[%i], %v : f32
  }
}
)";
  const codegen::LaunchAssumptions alone{.no_alias = true, .index32 = true, .aligned = false};
  const Ptx exact = compile(text, alone);
  EXPECT_THAT(exact.text, testing::ContainsRegex("(atom|red)[a-z.]*add\\.f32"));
  EXPECT_THAT(exact.text, testing::ContainsRegex("atom[a-z.]*cas"));
  text.replace(text.find("\"sums\""), 6, "\"sums\" fast_math");
  EXPECT_THAT(compile(text, alone).text, Not(testing::ContainsRegex("atom[a-z.]*cas")));
}

// LLVM turns these into atomic loads, and its NVPTX back end crashes on such a load from an array that
// aliases no other. proves R36
TEST(PtxAtomics, ThatChangeNothingAreCompiledAsTheyAre) {
  const struct {
    const char *operation, *type, *operand;
  } cases[] = {{"sub", "f32", "0"}, {"add", "f32", "-0"}, {"sub", "f64", "0"},  {"add", "u32", "0"},
               {"or", "i32", "0"},  {"xor", "u64", "0"},  {"and", "i64", "-1"}, {"sub", "i32", "0"}};
  for (const auto& c : cases) {
    const std::string type = c.type;
    const std::string text = "weir-ir 1\nkernel \"nothing\"\nparam @x: array<" + type +
                             ", 1>\nparam @y: array<" + type +
                             ", 1>\n{\n  %zero = const 0 : i64\n  %n = extent @x, 0 : i64\n"
                             "  parallel (%k) in (%zero to %n) {\n    %v = const " +
                             c.operand + " : " + type + "\n    %old = atomic." + c.operation +
                             " @x[%k], %v : " + type + "\n    store @y[%k], %old\n    %unused = atomic." +
                             c.operation + " @x[%k], %v : " + type + "\n  }\n}\n";
    EXPECT_THAT(compile(text, everything).text, testing::ContainsRegex("ld\\.[a-z.]*gpu|atom|red\\."))
        << text;
  }
}

TEST(PtxCounters, OfFewBinsAreKeptByTheBlock) {
  const Ptx ptx = compile(histogram, everything);
  EXPECT_THAT(ptx.text, HasSubstr(".b8 histogram_0_loop_counters[16384]"));
  EXPECT_THAT(ptx.text, HasSubstr("atom.shared.add.u32"));
  EXPECT_EQ(ptx.count("barrier.sync"), 2u);
  EXPECT_EQ(ptx.object.entries[0].waves, 1u);
  EXPECT_EQ(ptx.object.entries[0].block[0], 512u);  // so that fewer blocks add to the array
  EXPECT_EQ(compile(histogram, nothing).object.entries[0].block[0], 256u);
}

TEST(PtxCounters, WhoseOldValuesAreUsedAreNot) {
  std::string text(histogram);
  const std::string use = "    %even = cast %old : u8\n    store @x[%i], %even\n";
  text.insert(text.find("  }\n}"), use);
  EXPECT_EQ(compile(text, everything).count(".shared"), 0u);
}

// Another argument may be the same array, which would then lack the counts kept in shared memory.
TEST(PtxCounters, ThatMayBeAnotherArgumentAreNot) {
  EXPECT_EQ(compile(histogram, {.no_alias = false, .index32 = true, .aligned = true}).count(".shared"), 0u);
}

TEST(PtxLoops, InWhichAllThreadsReadTheSameTakeItFromTheBlocksMemory) {
  const Ptx ptx = compile(nbody, everything);
  EXPECT_EQ(ptx.object.entries[0].block_share, 256u);
  EXPECT_THAT(ptx.text, HasSubstr(".b8 nbody_0_loop_stage0[16384]"));  // 8 warps, 128 elements of 16 bytes
  EXPECT_GE(ptx.count("ld.shared.v4"), 1u);
  EXPECT_EQ(ptx.count("bar.warp.sync"), 2u);
}

// Eight times 16 KiB would exceed the 48 KiB of static shared memory that CUDA allows.
TEST(PtxLoops, OneAfterAnotherShareTheBlocksMemory) {
  const Ptx ptx = compile(staged_loops(8, false), everything);
  EXPECT_EQ(ptx.count("_stage0[16384]"), 1u);
  EXPECT_EQ(ptx.count(".shared .align"), 1u);
  EXPECT_EQ(ptx.count("bar.warp.sync"), 2u * 8u);
}

TEST(PtxLoops, InOneAnotherUseTheBlocksMemoryUpToItsLimit) {
  const Ptx ptx = compile(staged_loops(3, true), everything);
  EXPECT_EQ(ptx.count("_stage0[16384]"), 1u);
  EXPECT_EQ(ptx.count("_stage1[16384]"), 1u);
  EXPECT_EQ(ptx.count("_stage2"), 0u);
}

// Another argument may be the written array.
TEST(PtxLoops, ThatNeighboursShareLoadOnceForTwo) {
  const Ptx ptx = compile(nbody, {.no_alias = false, .index32 = true, .aligned = true});
  EXPECT_EQ(ptx.count(".shared"), 0u);
  EXPECT_EQ(ptx.object.entries[0].block_share, 2 * 256u);
  const std::string entry = ptx.entry(0);
  const std::size_t begin = entry.find("rsqrt.approx.ftz.f32");
  ASSERT_NE(begin, std::string::npos);
  std::size_t at = begin, roots = 0;
  const std::size_t load = entry.find("ld.global", begin);
  for (; at < load; at = entry.find("rsqrt.approx.ftz.f32", at + 1)) ++roots;
  EXPECT_EQ(roots, 2u) << "interactions per body that is loaded";
}

}  // namespace
}  // namespace weir::test
