// SPDX-License-Identifier: Apache-2.0
// The simulator supports every instruction that code generation emits for each processor: for every operation
// on every type, and for random kernels. No code is executed here.
#include <gtest/gtest.h>

#include <set>
#include <weir/compile.hpp>
#include <weir/program.hpp>

#include "bits_cases.hpp"
#include "choices.hpp"
#include "code/code_object.hpp"
#include "ir/printer.hpp"
#include "runnable_kernel.hpp"

namespace weir::test {
namespace {

constexpr const char* everything = "no_alias,index32,aligned,device_local";

class Instructions : public testing::TestWithParam<const char*> {
 protected:
  /// Adds those of the program's instructions that the simulator would refuse to `unknown`.
  void look_at(const Program& program, std::initializer_list<const char*> assumptions) {
    for (const char* assume : assumptions) {
      const CompiledProgram compiled = compile(program, {"hsaco", GetParam(), "", assume});
      if (compiled.tasks.empty()) return;
      const std::span image(reinterpret_cast<const std::uint8_t*>(compiled.bytes.data()),
                            compiled.bytes.size());
      hipsim::MemoryTable memory(0);
      const hipsim::CodeObject code(image, {GetParam(), false, true, 0}, memory);
      const hipsim::Program& decoded = code.program(code.kernels().begin()->second.lanes);
      const auto& instructions = decoded.instructions();
      ASSERT_GT(instructions.size(), 1u);
      for (std::uint32_t n = 0; n + 1 < instructions.size(); ++n) {
        if (instructions[n].problem.empty()) {
          ++known;
          continue;
        }
        const std::string text = decoded.text(n);
        const bool padding = text.starts_with("s_code_end") || text == "(no instruction)";
        if (!padding) unknown.insert(text + " " + instructions[n].problem);
      }
    }
  }
  void look_at(const std::vector<Operation>& operations, std::size_t per_kernel) {
    for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
      const auto end = std::min(begin + per_kernel, operations.size());
      const std::vector<Operation> part(operations.begin() + std::ptrdiff_t(begin),
                                        operations.begin() + std::ptrdiff_t(end));
      look_at(Program::parse(kernel_text(part)), {everything});
    }
  }
  void TearDown() override {
    EXPECT_GT(known, 1000u);
    for (const std::string& instruction : unknown) ADD_FAILURE() << GetParam() << ": " << instruction;
  }

  std::size_t known = 0;
  std::set<std::string> unknown;
};

TEST_P(Instructions, OfEveryOperationAreKnown) {
  look_at(arithmetic(), 32);
  look_at(conversions(), 32);
  // Math functions consist of the same arithmetic and compile slowly, so a sample of each kind suffices.
  std::vector<Operation> some;
  const std::vector<Operation> all = functions();
  for (std::size_t k = 0; k < all.size(); k += 5) some.push_back(all[k]);
  look_at(some, 8);
  look_at(atomics(), 16);
}

TEST_P(Instructions, OfRandomKernelsAreKnown) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Choices choices(seed + 1000);
    look_at(Program::parse(ir::print(runnable_kernel(choices).kernel)), {"", everything});
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, Instructions,
                         testing::Values("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::test
