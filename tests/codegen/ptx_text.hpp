// SPDX-License-Identifier: Apache-2.0
// Compiles kernels to PTX, whose text tests inspect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "occurrences.hpp"
#include "passes/plan.hpp"

namespace weir::test {

inline constexpr codegen::LaunchAssumptions nothing{};
inline constexpr codegen::LaunchAssumptions everything{
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
  std::size_t count(std::string_view what) const { return occurrences(text, what); }
};

inline Ptx compile(const std::string& text, const codegen::LaunchAssumptions& assumptions = nothing,
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

}  // namespace weir::test
