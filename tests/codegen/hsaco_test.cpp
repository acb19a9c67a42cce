// SPDX-License-Identifier: Apache-2.0
// HSACO files, which need no GPU: every processor, the kernels' descriptors, and what is refused.
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

constexpr codegen::Facts nothing{};
constexpr codegen::Facts everything{.distinct = true, .narrow = true, .aligned = true};

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
    for (const codegen::Facts& facts : {nothing, everything}) {
      const std::string file = request.compile({"hsaco", GetParam(), "", 0, 1024, facts});
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

TEST(HsacoTarget, TakesTheFeaturesThatHipNames) {
  const Request request(dot);
  const std::string text = request.assembly({"hsaco", "gfx90a:sramecc+:xnack-", "", 64, 1024});
  EXPECT_THAT(text, HasSubstr("gfx90a:sramecc+:xnack-"));
  // The command line's FORMAT:CPU:FEATURES hands the rest over as features.
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
  EXPECT_THAT(refusal("sm_90"), HasSubstr("'sm_90' is no AMD processor"));
  EXPECT_THAT(refusal("native"), HasSubstr("found 'native': name it behind the format, as in hsaco:gfx90a"));
  EXPECT_THAT(refusal("gfx1999"), HasSubstr("'gfx1999' is no AMD processor that LLVM"));
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

}  // namespace
}  // namespace weir::test
