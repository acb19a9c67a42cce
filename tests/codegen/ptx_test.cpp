// SPDX-License-Identifier: Apache-2.0
// PTX text, without a GPU: every architecture, the parameter block, instructions excluded by portable mode,
// barriers, reductions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <weir/error.hpp>

#include "harness.hpp"
#include "kernels.hpp"
#include "ptx_kernels.hpp"
#include "ptx_text.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(PtxEntry, BoundsTheRegistersSoThatThreadsAreResident) {
  std::string text = dot;
  text.insert(text.find('\n', text.find("kernel ")), " min_resident_threads 600");
  const Ptx ptx = compile(text, everything);
  EXPECT_THAT(ptx.entry(0), HasSubstr(".minnctapersm 3"));  // of 256 threads
  EXPECT_THAT(ptx.entry(1), HasSubstr(".minnctapersm 1"));  // of 1024
  EXPECT_THAT(compile(dot, everything).entry(0), Not(HasSubstr(".minnctapersm")));
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
    const std::size_t store = ptx.find("st.global"), barrier = ptx.find("barrier.sync", store),
                      load = ptx.find("ld.global", barrier);
    EXPECT_NE(store, std::string::npos) << ptx;
    EXPECT_NE(load, std::string::npos) << ptx;
  }
}

TEST(PtxPhases, OfShortLoopsHaveAThreadForEachIteration) {
  const std::string text =
      "weir-ir 1\nkernel \"k\"\n  param @x : array<f32, 1>\n  param @y : array<f32, 1>\n{\n%zero = const 0 : "
      "i64\n"
      "%one = const 1 : i64\n%n = extent @x, 0 : i64\n"
      "parallel (%i) in (%zero to %n) {\n%v = load @x[%i] : f32\nstore @y[%i], %v\n}\n"
      "parallel (%j) in (%zero to %n) {\n%m = sub %n, %j : i64\n%k = sub %m, %one : i64\n%w = load @y[%k] : "
      "f32\n"
      "store @x[%j], %w\n}\n}\n";
  const ir::Kernel kernel = ir::parse(text, "test");
  const auto compiled = [&](bool phases) {
    const passes::Plan plan = passes::make_plan(kernel, 8, {.phases = phases});
    std::vector<const ir::Task*> tasks;
    for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
    return weir_codegen(weir_codegen_abi)
        ->emit_text(kernel, tasks, {"ptx", "sm_90", "+ptx86", 32, 1024, everything}, "asm");
  };
  EXPECT_THAT(compiled(false), HasSubstr("st.global.v4"));
  EXPECT_THAT(compiled(true), Not(HasSubstr(".v4")));
  // The vendor's compiler would unroll loops that mostly run once.
  EXPECT_EQ(occurrences(compiled(true), ".pragma \"nounroll\""), 2u);
}

/// Of a text in which `letter` stands for `word`, and N for the number of threads of a group.
Ptx compile_group(const std::string& text, const char* letter, const char* word, const char* threads) {
  const auto whole = [](const char* name) { return std::regex("\\b" + std::string(name) + "\\b"); };
  return compile(std::regex_replace(std::regex_replace(text, whole(letter), word), whole("N"), threads),
                 everything);
}

TEST(PtxGroups, ExchangeInRegistersWhereTheyFillWarps) {
  const std::string text =
      "weir-ir 1\nkernel \"k\"\n  param @y : array<T, 1>\n{\n%zero = const 0 : i64\n%one = const 1 : i64\n"
      "%n = const N : i64\nparallel (%g, %t) in (%zero to %one, %zero to %n) group N {\n"
      "%v = load @y[%t] : T\n%l = cast %v : i32\nlocal $v : T\nset $v, %v\n%w = shuffle.16 $v, %l : T\n"
      "store @y[%t], %w\n}\n}\n";
  const auto compiled = [&](const char* type, const char* threads) {
    return compile_group(text, "T", type, threads);
  };
  for (const std::string type : {"i8", "i16", "i32", "f32", "u64", "f64"}) {
    const Ptx whole = compiled(type.c_str(), "96"), part = compiled(type.c_str(), "48");
    EXPECT_EQ(whole.count("shfl.sync.idx.b32"), type.ends_with("64") ? 2u : 1u) << type;
    EXPECT_EQ(whole.count("barrier.sync"), 1u) << type;  // before the block's next group
    EXPECT_EQ(part.count("shfl.sync"), 0u) << type;
    EXPECT_EQ(part.count("barrier.sync"), 3u) << type;
  }
}

// One instruction for all threads of a warp, or each thread's bit in the block's memory.
TEST(PtxExchange, BallotsAreOneInstructionWhereWarpsAreWhole) {
  const std::string text =
      "weir-ir 1\nkernel \"k\"\n  param @y : array<u32, 1>\n{\n%zero = const 0 : i64\n%one = const 1 : i64\n"
      "%n = const N : i64\n%c = const 5 : u32\nparallel (%g, %t) in (%zero to %one, %zero to %n) group N {\n"
      "%v = load @y[%t] : u32\n%l = lt %v, %c : bool\nlocal $v : bool\nset $v, %l\n%w = ballot.W $v : u32\n"
      "store @y[%t], %w\n}\n}\n";
  const auto compiled = [&](const char* width, const char* threads) {
    return compile_group(text, "W", width, threads);
  };
  for (const char* width : {"2", "8", "16", "32"}) {
    const Ptx whole = compiled(width, "96");
    EXPECT_EQ(whole.count("vote.sync.ballot.b32"), 1u) << width;
    EXPECT_EQ(whole.count("shfl.sync"), 0u) << width;
    EXPECT_EQ(whole.count(".shared"), 0u) << width;
    EXPECT_EQ(whole.count("barrier.sync"), 1u) << width;  // before the block's next group
  }
  const Ptx part = compiled("8", "24");
  EXPECT_EQ(part.count("vote.sync"), 0u);
  EXPECT_EQ(part.count("barrier.sync"), 4u);  // the bits are cleared, set and read before the next group
  EXPECT_EQ(compiled("1", "24").count("barrier.sync"), 1u);
}

TEST(PtxBarrier, OfSubgroupsIsOneOfTheWarpWhereWarpsAreWhole) {
  const std::string text =
      "weir-ir 1\nkernel \"k\"\n  param @y : array<u32, 1>\n{\n%zero = const 0 : i64\n%one = const 1 : i64\n"
      "%n = const N : i64\n%last = const 7 : i64\n"
      "parallel (%g, %t) in (%zero to %one, %zero to %n) group N {\n"
      "shared $s : u32[N]\n%v = load @y[%t] : u32\nset $s[%t], %v\nbarrier.W\n%o = xor %t, %last : i64\n"
      "%w = get $s[%o] : u32\nstore @y[%t], %w\n}\n}\n";
  const auto compiled = [&](const char* width, const char* threads) {
    return compile_group(text, "W", width, threads);
  };
  for (const char* width : {"8", "16", "32"}) {
    const Ptx whole = compiled(width, "96");
    EXPECT_EQ(whole.count("bar.warp.sync"), 1u) << width;
    EXPECT_EQ(whole.count("barrier.sync"), 1u) << width;  // before the block's next group
  }
  const Ptx part = compiled("8", "24");
  EXPECT_EQ(part.count("bar.warp.sync"), 0u);
  EXPECT_EQ(part.count("barrier.sync"), 2u);
  EXPECT_EQ(compiled("1", "96").count("bar.warp.sync"), 0u);
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
  std::size_t at = entry.find("barrier.sync");
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

// Conversions to unsigned integers have a maximum with 0 of f64; ptxas combines other bounds first.
TEST(PtxFloats, BoundsByOneUnderOthersEndInIntegers) {
  const auto module = [](const std::string& bounds, const std::string& to) {
    return compile(
        "weir-ir 1\nkernel \"bounds\"\n  param @x : array<f64, 1>\n  param @y : array<" + to +
            ", 1>\n{\n%zero = const 0 : i64\n%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n"
            "%nil = const 0 : f64\n%one = const 1 : f64\n%two = const 2 : f64\n%less = const -3 : f64\n"
            "%x = load @x[%i] : f64\n" +
            bounds + (to == "f64" ? "" : "%c = cast %b : " + to + "\n") + "store @y[%i], " +
            (to == "f64" ? "%b" : "%c") + "\n}\n}\n",
        everything);
  };
  const std::string one = "%a = min %x, %one : f64\n";
  for (const std::string to : {"u8", "u16", "u32", "u64"}) {
    EXPECT_GE(module("%b = min %x, %one : f64\n", to).count("selp.f64"), 1u) << to;
    EXPECT_GE(module(one + "%b = min %a, %two : f64\n", to).count("selp.f64"), 1u) << to;
    EXPECT_GE(module(one + "%b = max %a, %less : f64\n", to).count("selp.f64"), 1u) << to;
    EXPECT_EQ(module("%b = min %x, %two : f64\n", to).count("selp.f64"), 0u) << to;
  }
  EXPECT_GE(module(one + "%l = max %a, %less : f64\n%b = max %l, %nil : f64\n", "f64").count("selp.f64"), 1u);
  EXPECT_GE(module(one + "%l = min %a, %two : f64\n%b = max %l, %nil : f64\n", "f64").count("selp.f64"), 1u);
}

// ptxas makes min(max(x, 0), 1) of min(max(x, -0), 1), too.
TEST(PtxFloats, MaximaWithNegativeZeroAreIntegers) {
  for (const std::string type : {"f32", "f64"}) {
    const std::string text =
        "weir-ir 1\nkernel \"clamp\"\n  param @x : array<T, 1>\n{\n"
        "%zero = const 0 : i64\n%n = extent @x, 0 : i64\n"
        "parallel (%i) in (%zero to %n) {\n%one = const 1.0 : T\n%nil = const -0.0 : T\n%x = load @x[%i] : "
        "T\n"
        "%a = max %x, %nil : T\n%b = min %a, %one : T\nstore @x[%i], %b\n}\n}\n";
    const Ptx ptx = compile(std::regex_replace(text, std::regex("\\bT\\b"), type), everything);
    EXPECT_EQ(ptx.count("max." + type), 0u) << ptx.text;
    EXPECT_GE(ptx.count("min." + type), 1u) << ptx.text;
  }
}

// ptxas converts -1 or 0 from an integer for `c ? -1 : -0` (tests/evidence/ptxas-select.md).
TEST(PtxFloats, ConstantsOrNegativeZeroAreSelectedAsIntegers) {
  for (const char* operands : {"%one, %nil", "%nil, %one"}) {
    const Ptx ptx = compile(std::string("weir-ir 1\nkernel \"select\"\n  param @x : array<f32, 1>\n{\n"
                                        "%zero = const 0 : i64\n%n = extent @x, 0 : i64\n"
                                        "parallel (%i) in (%zero to %n) {\n%one = const -1 : f32\n"
                                        "%nil = const -0 : f32\n%x = load @x[%i] : f32\n"
                                        "%c = lt %x, %one : bool\n%s = select %c, ") +
                                operands + " : f32\nstore @x[%i], %s\n}\n}\n",
                            everything);
    EXPECT_EQ(ptx.count("selp.f32"), 0u) << ptx.text;
    EXPECT_GE(ptx.count("selp.b32"), 1u) << ptx.text;
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
    EXPECT_EQ(ptx.count(", n; }"), 0u) << "the negation must be the first operand:\n" << ptx.text;
  }
}

// ptxas drops the negation of the second operand. In words of smaller integers, an extension follows it.
TEST(PtxIntegers, NegationsAreFirstOperandsOfBounds) {
  for (const std::string op : {"max", "min"})
    for (const bool both : {false, true}) {
      const Ptx ptx = compile(
          "weir-ir 1\nkernel \"bounds\"\n  param @x : array<i32, 1>\n  param @y : array<i32, 1>\n{\n"
          "%zero = const 0 : i64\n%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n"
          "%x = load @x[%i] : i32\n%y = load @y[%i] : i32\n%a = neg %x : i32\n%b = neg %y : i32\n%c = " +
              op + (both ? " %a" : " %x") + ", %b : i32\nstore @x[%i], %c\n}\n}\n",
          everything);
      std::set<std::string> negations;
      int bounds = 0;
      std::istringstream lines(ptx.text);
      for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, std::regex("(neg|sub)\\.s32\\s+(%r[0-9]+), (0, )?%r[0-9]+;")))
          negations.insert(found[2]);
        if (!std::regex_search(line, found, std::regex(op + "\\.s32\\s+%r[0-9]+, (%r[0-9]+), (%r[0-9]+);")))
          continue;
        ++bounds;
        EXPECT_TRUE(negations.contains(found[1])) << line << "\n" << ptx.text;
        EXPECT_FALSE(negations.contains(found[2])) << line << "\n" << ptx.text;
      }
      EXPECT_GT(bounds, 0) << ptx.text;
    }
}

// ptxas takes |x| > -1 as true for NaN, too.
TEST(PtxFloats, AbsoluteValuesThatMustBeAbove0AreComparedAsBits) {
  const auto compare = [](const std::string& absolute, const std::string& constant) {
    return compile(
        "weir-ir 1\nkernel \"compare\"\n  param @x : array<f32, 1>\n  param @y : array<bool, 1>\n{\n"
        "%zero = const 0 : i64\n%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n"
        "%x = load @x[%i] : f32\n" +
            absolute + "%c = const " + constant + " : f32\n%z = gt %a, %c : bool\nstore @y[%i], %z\n}\n}\n",
        everything);
  };
  const std::string absolute = "%a = abs %x : f32\n";
  const std::string largest =
      "%b = abs %x : f32\n%one = const 1 : f32\n%d = sub %x, %one : f32\n%e = abs %d : f32\n"
      "%a = max %b, %e : f32\n";
  for (const auto& [form, constant] : {std::pair{absolute, "-1"}, {absolute, "-3e30"}, {largest, "-1"}}) {
    const Ptx ptx = compare(form, constant);
    EXPECT_EQ(ptx.count("abs.f32"), 0u) << ptx.text;
    EXPECT_GE(ptx.count("0x7fffffff"), 1u) << ptx.text;
  }
  EXPECT_GE(compare(absolute, "1").count("abs.f32"), 1u) << "as fast as it was";
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
