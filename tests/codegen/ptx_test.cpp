// SPDX-License-Identifier: Apache-2.0
// PTX text, without a GPU: every architecture, the parameter block, instructions excluded by portable mode,
// and optimisations enabled by assumptions about a launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <weir/error.hpp>

#include "codegen/codegen.hpp"
#include "harness.hpp"
#include "ir/parser.hpp"
#include "kernels.hpp"
#include "passes/plan.hpp"
#include "ptx_kernels.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr codegen::LaunchAssumptions nothing{};
constexpr codegen::LaunchAssumptions everything{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};

struct Ptx {
  std::string text;
  codegen::CodeObject object;
  passes::Plan plan;

  const ir::Task& task(std::size_t i) const { return plan.tasks.at(i).task; }
  /// The text of one entry point, from its name to its end.
  std::string entry(std::size_t i) const {
    const std::size_t begin = text.find(".entry " + task(i).name);
    return text.substr(begin, text.find("\n}", begin) - begin);
  }
  std::size_t count(std::string_view what) const {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
};

Ptx compile(const std::string& text, const codegen::LaunchAssumptions& assumptions = nothing,
            const std::string& cpu = "sm_90", const std::string& features = "+ptx86") {
  const ir::Kernel kernel = ir::parse(text, "test");
  Ptx ptx;
  ptx.plan = passes::make_plan(kernel, 8);
  std::vector<const ir::Task*> tasks;
  for (const passes::PlannedTask& planned : ptx.plan.tasks) tasks.push_back(&planned.task);
  if (tasks.empty()) return ptx;
  ptx.object =
      weir_codegen(weir_codegen_abi)->compile(kernel, tasks, {"ptx", cpu, features, 32, 1024, assumptions});
  ptx.text.assign(reinterpret_cast<const char*>(ptx.object.bytes.data()), ptx.object.bytes.size());
  return ptx;
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts = ptx_kernels();
  for (const auto& path : files_of("tests/ir/kernels")) texts.push_back(read_file(path));
  return texts;
}

std::string refusal(const std::string& cpu, const std::string& features) {
  try {
    compile(saxpy, nothing, cpu, features);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

class Architecture : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Architecture, TakesEveryKernelOfTheCorpus) {
  const auto [cpu, features] = GetParam();
  for (const std::string& text : corpus())
    for (const codegen::LaunchAssumptions& assumptions : {nothing, everything}) {
      const Ptx ptx = compile(text, assumptions, cpu, features);
      if (ptx.plan.tasks.empty()) continue;
      EXPECT_THAT(ptx.text, HasSubstr(std::string(".target ") + cpu + "\n"));
      EXPECT_EQ(ptx.object.target, cpu);
      const std::string version = std::string(features).substr(4);
      EXPECT_THAT(ptx.text, HasSubstr(".version " + version.substr(0, 1) + "." + version.substr(1) + "\n"));
      EXPECT_EQ(ptx.count(".visible .entry"), ptx.plan.tasks.size());
    }
}

INSTANTIATE_TEST_SUITE_P(All, Architecture,
                         testing::Values(std::pair{"sm_70", "+ptx60"}, std::pair{"sm_72", "+ptx61"},
                                         std::pair{"sm_75", "+ptx63"}, std::pair{"sm_80", "+ptx70"},
                                         std::pair{"sm_86", "+ptx71"}, std::pair{"sm_87", "+ptx74"},
                                         std::pair{"sm_88", "+ptx90"}, std::pair{"sm_89", "+ptx78"},
                                         std::pair{"sm_90", "+ptx80"}, std::pair{"sm_100", "+ptx86"},
                                         std::pair{"sm_101", "+ptx86"}, std::pair{"sm_103", "+ptx88"},
                                         std::pair{"sm_110", "+ptx90"}, std::pair{"sm_120", "+ptx87"},
                                         std::pair{"sm_121", "+ptx88"}),
                         [](const auto& info) { return std::string(info.param.first); });

TEST(PtxTarget, IsNeverNewerThanWhatTheDriverTakes) {
  // PTX 8.6 supports architectures up to sm_101; its code runs on newer ones.
  const Ptx ptx = compile(saxpy, nothing, "sm_120", "+ptx86");
  EXPECT_THAT(ptx.text, HasSubstr(".version 8.6\n"));
  EXPECT_THAT(ptx.text, HasSubstr(".target sm_101\n"));
}

TEST(PtxTarget, IsTheNewestKnownForDevicesAndDriversOfTheFuture) {
  const Ptx ptx = compile(saxpy, nothing, "sm_150", "+ptx123");
  EXPECT_THAT(ptx.text, HasSubstr(".version 9.0\n"));
  EXPECT_THAT(ptx.text, HasSubstr(".target sm_121\n"));
}

TEST(PtxTarget, WithoutAVersionIsTheOldestThatKnowsTheArchitecture) {
  EXPECT_THAT(compile(saxpy, nothing, "sm_75", "").text, HasSubstr(".version 6.3\n"));
}

TEST(PtxTarget, RefusesWhatNoCodeIsGeneratedFor) {
  EXPECT_THAT(refusal("sm_61", "+ptx86"), HasSubstr("needs sm_70 or newer"));
  EXPECT_THAT(refusal("gfx942", ""), HasSubstr("'gfx942' is not an NVIDIA architecture; expected sm_NN"));
  EXPECT_THAT(refusal("native", ""), HasSubstr("found 'native': name it after the format, as in ptx:sm_90"));
  EXPECT_THAT(refusal("sm90", ""), HasSubstr("did you mean sm_90?"));
  // Without the PTX version of a device's driver, an unknown architecture is an error.
  for (const char* unknown : {"sm_999", "sm_91", "sm_130", "sm_71"})
    EXPECT_THAT(refusal(unknown, ""),
                HasSubstr("is not an NVIDIA architecture that code is generated for: sm_70, sm_72"));
  EXPECT_THAT(refusal("sm_91", ""), HasSubstr("did you mean sm_90?"));
  EXPECT_THAT(refusal("sm_90", "+ptx50"), HasSubstr("PTX 5.0 is too old"));
  EXPECT_THAT(refusal("sm_90", "+avx2"), HasSubstr("expected +ptxNN"));
}

/// Offsets of an entry's parameters, in the order of the text, with natural alignment; the last element is
/// the end.
std::vector<std::uint32_t> parameter_offsets(const std::string& entry) {
  std::vector<std::uint32_t> offsets;
  std::uint32_t at = 0;
  const std::regex parameter(R"(\.param (?:\.align \d+ )?\.[a-z](\d+)[^,\n[]*(?:\[(\d+)\])?)");
  const std::string head = entry.substr(0, entry.find(')'));
  for (auto m = std::sregex_iterator(head.begin(), head.end(), parameter); m != std::sregex_iterator(); ++m) {
    // Halves are arrays of two bytes, with the alignment of one value.
    const auto size = std::uint32_t(std::stoul((*m)[1]) / 8 * ((*m)[2].matched ? std::stoul((*m)[2]) : 1));
    at = (at + size - 1) / size * size;
    offsets.push_back(at);
    at += size;
  }
  offsets.push_back(at);
  return offsets;
}

TEST(PtxEntry, TakesTheArgumentBlockAsItIsPacked) {
  for (const std::string& text : corpus())
    for (const codegen::LaunchAssumptions& assumptions : {nothing, everything}) {
      const Ptx ptx = compile(text, assumptions);
      for (std::size_t t = 0; t < ptx.plan.tasks.size(); ++t) {
        const std::vector<std::uint32_t> offsets = parameter_offsets(ptx.entry(t));
        EXPECT_EQ(offsets.back(), ptx.task(t).argument_bytes) << ptx.entry(t).substr(0, 900);
        for (const ir::TaskArgument& argument : ptx.task(t).arguments)
          EXPECT_THAT(offsets, testing::Contains(argument.offset)) << ptx.entry(t).substr(0, 900);
      }
    }
}

TEST(PtxEntry, OfATaskWithoutArgumentsHasNoParameters) {
  const Program program = parse_program(no_arguments);
  ASSERT_EQ(program.tasks.at(0).argument_bytes, 0u);
  const std::string text =
      weir_codegen(weir_codegen_abi)
          ->emit_text(program.kernel, program.pointers(), {"ptx", "sm_90", "+ptx86", 32, 1024}, "asm");
  EXPECT_THAT(text, HasSubstr(".entry task_0()"));
}

TEST(PtxEntry, SaysHowManyThreadsItRunsWith) {
  const Ptx ptx = compile(dot, everything);
  ASSERT_EQ(ptx.plan.tasks.size(), 2u);  // partial sums; their sum and the store of the result
  const std::uint32_t expected[] = {256, 1024};
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(ptx.object.entries[t].block[0], expected[t]);
    EXPECT_THAT(ptx.entry(t), HasSubstr(".maxntid " + std::to_string(expected[t])));
  }
  EXPECT_EQ(ptx.object.entries[0].block_share, 4u);  // chunks
}

TEST(PtxEntry, OfASerialTaskRunsInOneThread) {
  const Ptx ptx = compile(R"(weir-ir 1
kernel "first"
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : f32
  store @x[%zero], %one
}
)",
                          everything);
  ASSERT_EQ(ptx.plan.tasks.size(), 1u);
  EXPECT_EQ(ptx.object.entries[0].block[0], 1u);
  EXPECT_THAT(ptx.entry(0), HasSubstr(".maxntid 1"));
}

TEST(PtxPortable, UsesNoApproximation) {
  for (const std::string& text : corpus()) {
    if (text.find(" fast_math") != std::string::npos) continue;
    for (const codegen::LaunchAssumptions& assumptions : {nothing, everything}) {
      const Ptx ptx = compile(text, assumptions);
      EXPECT_THAT(ptx.text, Not(HasSubstr(".approx")));
      EXPECT_THAT(ptx.text, Not(HasSubstr(".ftz")));
      EXPECT_THAT(ptx.text, Not(HasSubstr("div.full")));
    }
  }
}

TEST(PtxPortable, ContractsNothing) {
  for (const std::string& text : {std::string(triad), std::string(stencil), std::string(dot)}) {
    EXPECT_EQ(compile(text, everything).count("fma."), 0u);
    EXPECT_EQ(compile(text, everything).count("mad.f"), 0u);
  }
}

TEST(PtxFast, UsesApproximationsAndContracts) {
  std::string fast(roots);
  fast.insert(fast.find('\n', fast.find("kernel")), " fast_math");
  const Ptx ptx = compile(fast, everything);
  EXPECT_THAT(ptx.text, HasSubstr(".approx"));
  EXPECT_THAT(ptx.text, HasSubstr("fma.rn.ftz.f32"));
  const Ptx portable = compile(roots, everything);
  EXPECT_THAT(portable.text, HasSubstr("div.rn.f32"));
  EXPECT_THAT(portable.text, HasSubstr("sqrt.rn.f32"));
}

// An argument that aliases no other one is still memory that other threads change before the barrier.
TEST(PtxBarrier, LoadsAfterItComeFromMemory) {
  const std::string head =
      "weir-ir 1\nkernel \"k\"\n  param @x : array<f32, 1>\n  param @y : array<f32, 1>\n{\n"
      "%zero = const 0 : i64\n%one = const 1 : i64\n%n = const 64 : i64\n%f = const 1 : f32\n";
  const std::string group = head +
                            "parallel (%g, %t) in (%zero to %one, %zero to %n) group 64 {\n"
                            "store @x[%t], %f\nbarrier\n%v = load @x[%t] : f32\nstore @y[%t], %v\n}\n}\n";
  const std::string phases = head +
                             "repeat (%k) to %one while {\n%true = const true : bool\nyield %true\n} do {\n"
                             "parallel (%i) in (%zero to %one) {\nstore @x[%i], %f\n}\n"
                             "parallel (%j) in (%zero to %one) {\n%v = load @x[%j] : f32\n"
                             "store @y[%j], %v\n}\n}\n}\n";
  for (const std::string& text : {group, phases}) {
    const std::string ptx = compile(text, everything).text;
    const std::size_t store = ptx.find("st.global"), barrier = ptx.find("bar.sync", store),
                      load = ptx.find("ld.global", barrier);
    EXPECT_NE(store, std::string::npos) << ptx;
    EXPECT_NE(load, std::string::npos) << ptx;
  }
}

// ptxas makes loops of these operations and loses the warp's convergence if one begins a loop's body
// (tests/evidence/ptxas-spin.md).
TEST(PtxBarrier, SharedAtomicsThatSpinFollowALoad) {
  for (const std::string type : {"i32", "u32", "i64", "u64", "f32", "f64"}) {
    const std::string text =
        "weir-ir 1\nkernel \"k\"\n  param @y : array<T, 1>\n  param @n : i64\n{\n"
        "%zero = const 0 : i64\n%one = const 1 : i64\n%width = const 64 : i64\n%n = arg @n : i64\n"
        "parallel (%g, %t) in (%zero to %one, %zero to %width) group 64 {\n"
        "shared $0 : T[2]\n%v = load @y[%t] : T\nset $0[%zero], %v\nbarrier\n"
        "for %k = %zero to %n step %one {\n%old = shared_atomic.add $0[%zero], %v : T\n"
        "barrier\n%w = get $0[%zero] : T\nstore @y[%t], %w\nbarrier\n}\n}\n}\n";
    const Ptx ptx = compile(std::regex_replace(text, std::regex("\\bT\\b"), type), everything);
    const bool spins = type != "i32" && type != "u32";
    const std::size_t load = ptx.text.find("ld.volatile.shared"),
                      atomic = ptx.text.find("atom.shared", spins ? load : 0);
    EXPECT_EQ(ptx.count("ld.volatile.shared"), spins ? 1u : 0u) << ptx.text;
    EXPECT_NE(atomic, std::string::npos) << ptx.text;
  }
}

TEST(PtxReduction, FoldsLanesInTheOrderOfTheHalves) {
  const std::string entry = compile(dot, everything).entry(0);
  std::size_t at = entry.find("bar.sync");
  ASSERT_NE(at, std::string::npos);  // from the upper 32 lanes through shared memory
  for (const char* by : {"16", "8", "4", "2", "1"}) {
    at = entry.find("shfl.sync.down.b32", at + 1);
    ASSERT_NE(at, std::string::npos);
    EXPECT_THAT(entry.substr(at, entry.find('\n', at) - at), HasSubstr(std::string(", ") + by + ", 31, -1"));
  }
}

TEST(PtxReduction, LoadsAheadOfTheSum) {
  const std::string entry = compile(dot, everything).entry(0);
  EXPECT_THAT(entry, HasSubstr("+1792]"));  // the eighth round of 64 lanes, relative to the first
}

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
  EXPECT_EQ(ptx.count("bar.sync"), 2u);
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

// ptxas makes min(max(x, 0), 1) of max(min(x, 1), 0), which returns 0 for a NaN instead of 1
// (tests/evidence/ptxas-clamp.md).
TEST(PtxFloats, ClampedFromZeroToOneEndInIntegers) {
  const std::string min = "%a = min %x, %one : T\n",
                    less = "%l = lt %x, %one : bool\n%a = select %l, %x, %one : T\n";
  const std::string max = "%b = max %a, %nil : T\n",
                    more = "%g = gt %a, %nil : bool\n%b = select %g, %a, %nil : T\n";
  for (const std::string type : {"f32", "f64"})
    for (const std::string& limit : {min, less})
      for (const std::string& floor : {max, more})
        for (const char* nil : {"0.0", "-0.0"}) {
          const std::string text =
              "weir-ir 1\nkernel \"clamp\"\n  param @x : array<T, 1>\n{\n"
              "%zero = const 0 : i64\n%n = extent @x, 0 : i64\n"
              "parallel (%i) in (%zero to %n) {\n%one = const 1.0 : T\n%nil = const " +
              std::string(nil) + " : T\n%x = load @x[%i] : T\n" + limit + floor + "store @x[%i], %b\n}\n}\n";
          const Ptx ptx = compile(std::regex_replace(text, std::regex("\\bT\\b"), type), everything);
          EXPECT_EQ(ptx.count("max." + type), 0u) << ptx.text;
          EXPECT_EQ(ptx.count("setp.gt." + type), 0u) << ptx.text;
          EXPECT_GE(ptx.count("selp." + type), 1u) << ptx.text;
        }
}

// ptxas takes results of abs as never negative, also that of the least integer (tests/evidence/ptxas-abs.md).
TEST(PtxIntegers, AbsoluteValuesAreMaxima) {
  for (const std::string type : {"i32", "i64"}) {  // words hold the results of smaller integers

    const Ptx ptx = compile("weir-ir 1\nkernel \"least\"\n  param @x : array<" + type +
                                ", 1>\n{\n%zero = const 0 : i64\n%n = extent @x, 0 : i64\n"
                                "parallel (%i) in (%zero to %n) {\n%x = load @x[%i] : " +
                                type + "\n%a = abs %x : " + type + "\nstore @x[%i], %a\n}\n}\n",
                            everything);
    EXPECT_EQ(ptx.count("abs."), 0u) << ptx.text;
    EXPECT_GE(ptx.count("max.s" + type.substr(1)), 1u) << ptx.text;
  }
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

TEST(PtxStack, OfOneIterationHasALimit) {
  try {
    compile(large_local);
    FAIL() << "a local array of 128 KiB per thread was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("local arrays of one iteration take 131072 bytes"));
  }
}

/// ptxas of an installed CUDA toolkit, or "".
std::string assembler() {
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  path += ":/usr/local/cuda/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::filesystem::path program = std::filesystem::path(path.substr(begin, end - begin)) / "ptxas";
    std::error_code error;
    if (end > begin && std::filesystem::exists(program, error)) return program.string();
    begin = end + 1;
  }
  return "";
}

TEST(PtxAssembler, AcceptsEveryKernelOfTheCorpus) {
  const std::string program = assembler();
  if (program.empty()) GTEST_SKIP() << "no ptxas here; install a CUDA toolkit to assemble the generated PTX";
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string name = (folder / ("weir-ptx-test-" + std::to_string(::getpid()))).string();
  for (const std::string& text : corpus()) {
    const Ptx ptx = compile(text, everything);
    if (ptx.plan.tasks.empty()) continue;
    std::ofstream(name + ".ptx") << ptx.text;
    const std::string command =
        "'" + program + "' -arch=sm_90 '" + name + ".ptx' -o '" + name + ".cubin' > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << ptx.text;
  }
  std::filesystem::remove(name + ".ptx");
  std::filesystem::remove(name + ".cubin");
}

}  // namespace
}  // namespace weir::test
