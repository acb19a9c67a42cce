// SPDX-License-Identifier: Apache-2.0
// The barrier of the grid in code of cooperative tasks.
#include <gmock/gmock.h>

#include <string>
#include <vector>
#include <weir/error.hpp>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "occurrences.hpp"
#include "passes/plan.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr codegen::LaunchAssumptions usual{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};

/// Two loops over arrays that each other writes, and a reduction, until a condition is false.
constexpr const char* steps = R"(weir-ir 1
kernel "steps"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
  param @fixed : array<f32, 1>
{
  %zero = const 0 : i64
  %most = const 100 : i64
  %n = extent @x, 0 : i64
  local $more : bool
  %true = const true : bool
  set $more, %true
  repeat (%k) to %most while {
    %go = get $more : bool
    yield %go
  } do {
    parallel (%i) in (%zero to %n) {
      %a = load @y[%i] : f32
      %b = load @fixed[%i] : f32
      %s = add %a, %b : f32
      store @x[%i], %s
    }
    parallel (%j) in (%zero to %n) {
      %last = sub %n, %j : i64
      %one = const 1 : i64
      %at = sub %last, %one : i64
      %v = load @x[%at] : f32
      store @y[%j], %v
    }
    %sum = reduce.sum (%r) in (%zero to %n) : f32 {
      %w = load @y[%r] : f32
      yield %w
    }
    %limit = const 1000 : f32
    %less = lt %sum, %limit : bool
    set $more, %less
  }
}
)";

struct Code {
  std::string text;
  Lowering lowering;
  std::uint32_t block;

  std::size_t count(std::string_view what) const { return occurrences(text, what); }
};

/// The task of the repetition.
Code code_of(const codegen::Target& target, const char* emit, bool cooperative = true) {
  const ir::Kernel kernel = ir::parse(steps, "test");
  const passes::Plan plan = passes::make_plan(kernel, 8, {.cooperative = cooperative});
  const ir::Task* task = nullptr;
  for (const passes::PlannedTask& planned : plan.tasks)
    if (planned.task.kind == ir::TaskKind::phases) task = &planned.task;
  codegen::Compiler& compiler = *weir_codegen(weir_codegen_abi);
  const codegen::CodeObject object = compiler.compile(kernel, std::vector{task}, target);
  return {compiler.emit_text(kernel, std::vector{task}, target, emit), object.entries.at(0).lowering,
          object.entries.at(0).block[0]};
}

const codegen::Target h200{"ptx", "sm_90", "+ptx86", 32, 1024, usual};
const codegen::Target mi210{"hsaco", "gfx90a", "", 64, 1024, usual};

// After both loops, before the chunks are combined, and at the beginning, when each block has taken the value
// of $more. Each block combines the chunks and computes the condition.
constexpr std::size_t barriers = 4;

TEST(GridBarrier, OfNvidiaGpusFencesBeforeAndAfterTheWait) {
  const Code code = code_of(h200, "asm");
  EXPECT_TRUE(code.lowering.takes(LoweringPath::grid_phases));
  EXPECT_EQ(code.block, 512u);
  EXPECT_EQ(code.count("atom.global.add.u32"), barriers) << code.text;
  EXPECT_EQ(code.count("ld.relaxed.gpu.global.b32"), 2 * barriers) << "before and in the loop that waits";
  EXPECT_EQ(code.count("fence.acq_rel.gpu"), 2 * barriers);
  EXPECT_GE(code.count("nanosleep"), barriers);
}

// One thread waits for the other blocks when all of its block have arrived, and all go on after it.
TEST(GridBarrier, IsBetweenTwoBarriersOfTheBlock) {
  const Code code = code_of(h200, "llvm");
  const std::string barrier = "  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)\n";
  std::size_t before = 0, after = 0;
  for (std::size_t at = 0; (at = code.text.find("label %grid.first", at)) != std::string::npos; ++at) {
    const std::size_t begin = code.text.rfind("\n\n", at);
    before += code.text.substr(begin, at - begin).find(barrier) != std::string::npos;
  }
  for (std::size_t at = 0; (at = code.text.find("\ngrid.all", at)) != std::string::npos; ++at)
    after += code.text.substr(at, code.text.find("\n\n", at) - at).find(barrier) != std::string::npos;
  EXPECT_EQ(before, barriers) << code.text;
  EXPECT_EQ(after, barriers) << code.text;
}

TEST(GridBarrier, ElementsThatOtherBlocksWriteAreReadCoherently) {
  // Only @fixed, which the task does not write, goes through the cache of constants.
  const Code code = code_of(h200, "llvm-opt");
  EXPECT_EQ(code.count("noalias"), 1u) << code.text;
  EXPECT_THAT(code_of(h200, "asm", false).text, Not(HasSubstr("atom.")));
}

TEST(GridBarrier, OfAmdGpusFencesInEachWave) {
  const Code code = code_of(mi210, "asm");
  EXPECT_TRUE(code.lowering.takes(LoweringPath::grid_phases));
  EXPECT_EQ(code.count("global_atomic_add"), barriers) << code.text;
  EXPECT_GE(code.count("buffer_wbinvl1_vol"), barriers);
  EXPECT_GE(code.count("s_sleep"), barriers);
}

TEST(GridBarrier, TargetsWithoutItAreRefused) {
  EXPECT_THROW(code_of({"elf-x86_64", "x86-64", "", 1, 1, usual}, "asm"), Error);
  EXPECT_FALSE(codegen::generates_cooperative("elf-x86_64"));
  EXPECT_FALSE(codegen::generates_cooperative("spirv-vulkan"));
}

}  // namespace
}  // namespace weir::test
