// SPDX-License-Identifier: Apache-2.0
// HSACO files, without a GPU: every processor, the kernels' descriptors, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weir/error.hpp>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "kernels.hpp"
#include "passes/plan.hpp"
#include "ptx_kernels.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr codegen::LaunchAssumptions nothing{};
constexpr codegen::LaunchAssumptions everything{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};

struct Request {
  ir::Kernel kernel;
  passes::Plan plan;
  std::vector<const ir::Task*> tasks;

  explicit Request(const std::string& text)
      : kernel(ir::parse(text, "test")), plan(passes::make_plan(kernel, 8)) {
    for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  }
  std::string compile(const codegen::Target& target) const {
    const auto bytes = weir_codegen(weir_codegen_abi)->compile(kernel, tasks, target).bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string assembly(const codegen::Target& target) const {
    return weir_codegen(weir_codegen_abi)->emit_text(kernel, tasks, target, "asm");
  }
};

std::vector<std::string> corpus() {
  std::vector<std::string> texts = ptx_kernels();
  for (const auto& path : files_of("tests/ir/kernels")) texts.push_back(read_file(path));
  return texts;
}

class Processor : public testing::TestWithParam<const char*> {};

TEST_P(Processor, TakesEveryKernelOfTheCorpus) {
  for (const std::string& text : corpus()) {
    const Request request(text);
    if (request.tasks.empty()) continue;
    for (const codegen::LaunchAssumptions& assumptions : {nothing, everything}) {
      const std::string file = request.compile({"hsaco", GetParam(), "", 0, 1024, assumptions});
      ASSERT_GT(file.size(), 64u);
      EXPECT_EQ(file.substr(0, 4),
                "\x7f"
                "ELF");
      EXPECT_EQ(file[16], 3) << "no shared object";
      EXPECT_EQ(std::uint8_t(file[18]), 224) << "not for AMD GPUs";
      EXPECT_EQ(file[8], 3) << "not of code object version 5";
      for (const ir::Task* task : request.tasks) EXPECT_THAT(file, HasSubstr(task->name + ".kd"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Processor,
                         testing::Values("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030",
                                         "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

TEST(HsacoTarget, TakesWavesAsTheDeviceHasThem) {
  const Request request(dot);
  EXPECT_THAT(request.assembly({"hsaco", "gfx1100", "", 32, 1024}), HasSubstr(".amdhsa_wavefront_size32 1"));
  EXPECT_THAT(request.assembly({"hsaco", "gfx1100", "", 64, 1024}), HasSubstr(".amdhsa_wavefront_size32 0"));
  EXPECT_THAT(request.assembly({"hsaco", "gfx942", "", 64, 1024}), HasSubstr("gfx942"));
}

// A comparison writes the bits of a wave; the exchange of values needs memory of the block's.
TEST(HsacoExchange, BallotsAreComparisons) {
  const Request request(R"(weir-ir 1
kernel "k"
  param @x : array<u32, 1>
{
  %0 = const 0 : i64
  %1 = const 1 : i64
  %n = const 128 : i64
  %five = const 5 : u32
  parallel (%g, %t) in (%0 to %1, %0 to %n) group 128 {
    %v = load @x[%t] : u32
    %c = lt %v, %five : bool
    local $c : bool
    set $c, %c
    %b = ballot.16 $c : u32
    store @x[%t], %b
  }
}
)");
  for (const auto& [processor, lanes] :
       {std::pair{"gfx90a", 64u}, {"gfx942", 64u}, {"gfx1100", 32u}, {"gfx1100", 64u}}) {
    const std::string text = request.assembly({"hsaco", processor, "", lanes, 1024, everything});
    EXPECT_THAT(text, testing::ContainsRegex("v_cmp_[a-z]+_u32")) << processor;
    EXPECT_THAT(text, Not(HasSubstr("bpermute"))) << processor;
    EXPECT_THAT(text, Not(HasSubstr("ds_"))) << processor;
  }
}

TEST(HsacoTarget, TakesTheFeaturesThatHipNames) {
  const Request request(dot);
  const std::string text = request.assembly({"hsaco", "gfx90a:sramecc+:xnack-", "", 64, 1024});
  EXPECT_THAT(text, HasSubstr("gfx90a:sramecc+:xnack-"));
  // In the command line's FORMAT:CPU:FEATURES, everything after the second colon is features.
  EXPECT_EQ(request.assembly({"hsaco", "gfx90a", "sramecc+:xnack-", 64, 1024}), text);
}

TEST(HsacoTarget, RefusesWhatNoCodeIsGeneratedFor) {
  const Request request(dot);
  const auto refusal = [&](const char* cpu) -> std::string {
    try {
      request.compile({"hsaco", cpu, "", 64, 1024});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("gfx803"), HasSubstr("expected gfx906 or newer"));
  EXPECT_THAT(refusal("sm_90"), HasSubstr("'sm_90' is not an AMD processor"));
  EXPECT_THAT(refusal("native"), HasSubstr("found 'native': name it after the format, as in hsaco:gfx90a"));
  EXPECT_THAT(refusal("gfx91a"), HasSubstr("did you mean gfx90a"));
  EXPECT_THAT(refusal("gfx1999"), HasSubstr("'gfx1999' is not an AMD processor supported by LLVM"));
  EXPECT_THAT(refusal("gfx90a:fast+"), HasSubstr("expected gfxNNN, with :sramecc+"));
}

TEST(HsacoEntry, TakesTheArgumentBlockAsItIsPacked) {
  for (const std::string& text : corpus()) {
    const Request request(text);
    if (request.tasks.empty()) continue;
    const std::string assembly = request.assembly({"hsaco", "gfx942", "", 64, 1024, everything});
    for (const ir::Task* task : request.tasks)
      EXPECT_THAT(assembly, HasSubstr(".amdhsa_kernarg_size " + std::to_string(task->argument_bytes) + "\n"));
  }
}

TEST(HsacoEntry, IsForBlocksOfTheSizeThatLaunchesUse) {
  const Request request{std::string(saxpy)};
  const codegen::Target target{"hsaco", "gfx90a", "", 64, 1024, everything};
  const auto object = weir_codegen(weir_codegen_abi)->compile(request.kernel, request.tasks, target);
  EXPECT_THAT(request.assembly(target),
              HasSubstr(".max_flat_workgroup_size: " + std::to_string(object.entries.at(0).block[0]) + "\n"));
}

// LLVM may compute anything of a value for which such a promise is wrong.
TEST(LoweredCode, PromisesNothingOfTheBitsOfIntegers) {
  for (const std::string& text : corpus()) {
    const Request request(text);
    if (request.tasks.empty()) continue;
    for (const codegen::Target& target :
         {codegen::Target{"elf-x86_64", "x86-64-v3", "", 1, 1, everything},
          codegen::Target{"ptx", "sm_90", "", 32, 1024, everything},
          codegen::Target{"hsaco", "gfx90a", "", 64, 1024, everything},
          codegen::Target{"spirv-vulkan", "vulkan1.3", "", 8, 1024, everything}}) {
      std::string code;
      try {
        code = weir_codegen(weir_codegen_abi)->emit_text(request.kernel, request.tasks, target, "llvm");
      } catch (const Error&) {
        continue;  // not for this target
      }
      for (const char* promise :
           {"zext nneg i1 ", " disjoint ", " exact ", " samesign ", "trunc nuw", "trunc nsw"})
        EXPECT_EQ(code.find(promise), code.npos) << promise << target.format << "\n" << text;
    }
  }
}

// A compute unit has four SIMD units of 64 lanes, or two of 32, and at most 16 waves in each.
TEST(HsacoEntry, AsksForTheWavesOfTheThreadsThatAKernelWants) {
  for (const auto& [processor, threads, waves] :
       {std::tuple{"gfx90a", 512, 2}, {"gfx90a", 513, 3}, {"gfx1100", 512, 8}, {"gfx1100", 2048, 16}}) {
    std::string text(saxpy);
    text.insert(text.find('\n', text.find("kernel ")), " min_resident_threads " + std::to_string(threads));
    const Request request(text);
    const std::string code =
        weir_codegen(weir_codegen_abi)
            ->emit_text(request.kernel, request.tasks, {"hsaco", processor, "", 0, 1024}, "llvm");
    EXPECT_THAT(code, HasSubstr("\"amdgpu-waves-per-eu\"=\"" + std::to_string(waves) + "\""))
        << processor << threads;
  }
}

// The loop is in the code twice, with counters of a block and without, and takes 40,000 of at most 65,536
// bytes.
TEST(HsacoLocals, OfBothFormsOfALoopThatCountsAreTheSame) {
  const Request request(R"(weir-ir 1
kernel "count"
param @x: array<i64, 1>
param @bins: array<i32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i32
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $table : i64[5000]
    %v = load @x[%i] : i64
    set $table[%v], %i
    %k = get $table[%i] : i64
    %old = atomic.add @bins[%k], %one : i32
  }
}
)");
  const auto object =
      weir_codegen(weir_codegen_abi)
          ->compile(request.kernel, request.tasks, {"hsaco", "gfx90a", "", 64, 1024, everything});
  EXPECT_TRUE(object.entries.at(0).lowering.takes(LoweringPath::private_counters));
}

/// A processor's atomic additions of floats: the instructions, and whether loops are used too.
struct Adds {
  const char* cpu;
  bool f32, f64, loops;
};

TEST(HsacoAtomics, AddFloatsByTheProcessorsOwnInstructions) {
  // Loops: for f64 without an instruction, and for subnormal f32 if the instruction would flush them to 0.
  for (const Adds& adds : {Adds{"gfx906", false, false, true},
                           {"gfx908", true, false, true},
                           {"gfx90a", true, true, true},
                           {"gfx942", true, true, false},
                           {"gfx950", true, true, false},
                           {"gfx1030", false, false, true},
                           {"gfx1100", true, false, true},
                           {"gfx1201", true, false, true}}) {
    const std::string text = Request(float_sums).assembly({"hsaco", adds.cpu, "", 0, 1024, everything});
    EXPECT_EQ(text.find("global_atomic_add_f32") != text.npos, adds.f32) << adds.cpu;
    EXPECT_EQ(text.find("global_atomic_add_f64") != text.npos, adds.f64) << adds.cpu;
    EXPECT_EQ(text.find("_cmpswap") != text.npos, adds.loops) << adds.cpu;
  }
}

/// Every atomic operation on integers, with the old value discarded and with it stored.
std::string integer_atomics() {
  std::string parameters, body;
  for (const std::string& type : std::vector<std::string>{"i32", "u32", "i64", "u64"}) {
    parameters +=
        "param @" + type + ": array<" + type + ", 1>\nparam @old_" + type + ": array<" + type + ", 1>\n";
    body += "    %" + type + " = load @old_" + type + "[%i] : " + type + "\n";
    for (const std::string& kind :
         std::vector<std::string>{"add", "sub", "min", "max", "and", "or", "xor", "exchange"}) {
      const std::string name = kind + "_" + type,
                        right = " = atomic." + kind + " @" + type + "[%zero], %" + type;
      body += "    %dropped_" + name + right + " : " + type + "\n    %" + name + right + " : " + type +
              "\n    store @old_" + type + "[%i], %" + name + "\n";
    }
  }
  return "weir-ir 1\nkernel \"atomics\"\n" + parameters +
         "{\n  %zero = const 0 : i64\n  %n = extent @i32, 0 : i64\n  parallel (%i) in (%zero to %n) {\n" +
         body + "  }\n}\n";
}

TEST(HsacoAtomics, OfIntegersAreTheProcessorsOwnInstructions) {
  const Request request(integer_atomics());
  for (const char* cpu :
       {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}) {
    const std::string text = request.assembly({"hsaco", cpu, "", 0, 1024, everything});
    for (const char* operation : {"add", "sub", "and", "or", "xor", "swap"})
      EXPECT_THAT(text, HasSubstr(std::string("global_atomic_") + operation)) << cpu;
    EXPECT_EQ(text.find("_cmpswap"), text.npos) << cpu;
  }
}

TEST(HsacoAtomics, AddFloatsByLoopsToMemoryThatMayBeShared) {
  const std::string text = Request(float_sums).assembly({"hsaco", "gfx90a", "", 0, 1024, nothing});
  EXPECT_EQ(text.find("global_atomic_add_f"), text.npos);
  EXPECT_THAT(text, HasSubstr("global_atomic_cmpswap"));
}

TEST(HsacoAtomics, OfFastMathHaveNoLoopForSmallF32) {
  std::string fast(float_sums);
  fast.replace(fast.find("\"float_sums\""), 12, "\"float_sums\" fast_math");
  const std::string text = Request(fast).assembly({"hsaco", "gfx90a", "", 0, 1024, everything});
  EXPECT_THAT(text, HasSubstr("global_atomic_add_f32"));
  EXPECT_EQ(text.find("_cmpswap"), text.npos);
}

}  // namespace
}  // namespace weir::test
