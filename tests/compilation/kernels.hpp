// SPDX-License-Identifier: Apache-2.0
// Kernels to compile, with their tasks.
#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "passes/plan.hpp"

namespace weir::test {

struct PlannedKernel {
  explicit PlannedKernel(const std::string& text)
      : kernel(ir::parse(text)), plan(passes::make_plan(kernel, 8)) {
    for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  }
  PlannedKernel(const PlannedKernel&) = delete;
  PlannedKernel& operator=(const PlannedKernel&) = delete;

  codegen::CodeObject compile(codegen::Compiler& with, const std::string& cpu = "x86-64-v3",
                              const std::string& features = "") const {
    return with.compile(kernel, tasks, {"elf-x86_64", cpu, features, 1, 1});
  }

  ir::Kernel kernel;
  passes::Plan plan;
  std::vector<const ir::Task*> tasks;
};

/// A loop of `operations` calls, each of which depends on the previous result.
inline std::string chain_text(int operations, const std::string& name = "chain") {
  std::string text = "weir-ir 1\nkernel \"" + name + R"("
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %v0 = load @x[%i] : f32
)";
  for (int i = 0; i < operations; ++i)
    text += "    %v" + std::to_string(i + 1) + " = math.sin %v" + std::to_string(i) + " : f32\n";
  return text + "    store @x[%i], %v" + std::to_string(operations) + "\n  }\n}\n";
}

}  // namespace weir::test
