// SPDX-License-Identifier: Apache-2.0
#include "ir_target.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/plan.hpp"
#include "passes/split_algorithms.hpp"
#include "random_kernel.hpp"
#include "require.hpp"

namespace weir::test {
namespace {

void plan(const ir::Kernel& kernel, const std::string& text, std::uint32_t address_bytes,
          const passes::PlanOptions& options = {}) {
  try {
    const passes::Plan plan = passes::make_plan(kernel, address_bytes, options);
    for (const passes::PlannedTask& planned : plan.tasks) {
      require(ir::verify_task(kernel, planned.task).empty(), "a task breaks a rule", text);
      require(!ir::print(kernel, planned.task).empty(), "a task does not print", text);
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kernel, "a plan fails with an unexpected error code", text);
  }
}

void exercise(const ir::Kernel& kernel) {
  const std::string text = ir::print(kernel);
  ir::Kernel back = ir::parse(text);
  require(ir::print(back) == text, "printing the parsed kernel changes the text", text);
  require(ir::verify(back).empty(), "the parsed kernel breaks a rule", text);
  const std::string located = ir::print(back, true);
  require(ir::print(ir::parse(located), true) == located, "locations do not read back", located);
  for (const auto& step : passes::split_at_algorithms(kernel).steps) {
    const auto* const part = std::get_if<ir::Kernel>(&step);
    if (!part) continue;
    require(ir::verify(*part).empty(), "a part of a kernel with algorithms breaks a rule", text);
    plan(*part, text, 8);
    plan(*part, text, 8, {passes::Fusion::shared_index, {.no_alias = true, .index32 = true}});
    plan(*part, text, 16);
  }
}

}  // namespace

bool exercise_ir_text(const std::uint8_t* data, std::size_t size) {
  ir::Kernel kernel;
  try {
    kernel = ir::parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::parse, "reading fails with a code of its own", error.what());
    return false;
  }
  if (!ir::verify(kernel).empty()) {
    ir::print(kernel, true);
    return false;
  }
  exercise(kernel);
  return true;
}

void exercise_random_kernel(const std::uint8_t* data, std::size_t size) {
  Choices choices(std::span<const std::uint8_t>(data, size));
  const ir::Kernel kernel = random_kernel(choices);
  require(ir::verify(kernel).empty(), "a generated kernel breaks a rule", ir::print(kernel));
  exercise(kernel);
}

}  // namespace weir::test
