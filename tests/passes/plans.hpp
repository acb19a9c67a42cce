// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>
#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/plan.hpp"

namespace weir::test {

/// A kernel "k" with arrays @x, @y, @z of f32, @n of i32, @m (rank 2, f64), scalars @a (f32), @c (i64), and
/// the values %zero, %one and %len (the extent of @x).
inline ir::Kernel kernel(const std::string& body, const std::string& options = "") {
  return ir::parse(
      "weir-ir 1\nkernel \"k\" " + options +
          "\n  param @x : array<f32, 1>\n  param @y : array<f32, 1>\n  param @z : array<f32, 1>\n"
          "  param @n : array<i32, 1>\n  param @m : array<f64, 2>\n  param @a : f32\n  param @c : i64\n{\n"
          "%zero = const 0 : i64\n%one = const 1 : i64\n%len = extent @x, 0 : i64\n" +
          body + "\n}\n",
      "k.weir");
}

/// The plan of `kernel`, whose tasks keep the rules of tasks.
inline passes::Plan verified_plan(const ir::Kernel& kernel, const passes::PlanOptions& options = {}) {
  passes::Plan plan = passes::make_plan(kernel, 8, options);
  for (const passes::PlannedTask& planned : plan.tasks)
    for (const ir::Diagnostic& fault : ir::verify_task(kernel, planned.task))
      throw std::runtime_error(fault.message + "\n" + ir::print(kernel, planned.task));
  return plan;
}

inline passes::Plan plan(const std::string& body, const std::string& options = "") {
  return verified_plan(kernel(body, options));
}

/// One word per task, with region and block if it has them: "serial", "loop", "reduce", "combine",
/// "loop@0.1", and "loop@0.1/2" in a group that is not the first of its block.
inline std::vector<std::string> shape(const passes::Plan& plan) {
  static const char* const words[] = {"serial", "loop", "reduce", "combine", "phases"};
  std::vector<std::string> out;
  for (const auto& planned : plan.tasks) {
    std::string word = words[static_cast<std::size_t>(planned.task.kind)];
    if (planned.region >= 0)
      word += "@" + std::to_string(planned.region) + "." + std::to_string(planned.block);
    if (planned.group != 0) word += "/" + std::to_string(planned.group);
    out.push_back(word);
  }
  return out;
}

/// The text of a task's body.
inline std::string task_text(const ir::Kernel& kernel, const passes::PlannedTask& planned) {
  const std::string text = ir::print(kernel, planned.task);
  return text.substr(text.find('{'));
}

/// The planner's message for `body`, or "".
inline std::string refusal(const std::string& body) {
  try {
    plan(body);
  } catch (const Error& error) {
    return error.code() == ErrorCode::kernel ? error.what() : "a code of its own";
  }
  return {};
}

/// %count, a number of repetitions that only the device knows.
inline const std::string loaded_count = "%load = load @n[%zero] : i32\n%count = cast %load : i64\n";

/// A loop over @x that stores %value to array `name`.
inline std::string fill(const std::string& name, const std::string& tag) {
  return "parallel (%i" + tag + ") in (%zero to %len) {\n  %f" + tag + " = const 1 : f32\n  store @" + name +
         "[%i" + tag + "], %f" + tag + "\n}\n";
}

/// A loop that copies array `from` to array `to`.
inline std::string copy(const std::string& from, const std::string& to, const std::string& tag) {
  return "parallel (%i" + tag + ") in (%zero to %len) {\n  %f" + tag + " = load @" + from + "[%i" + tag +
         "] : f32\n  store @" + to + "[%i" + tag + "], %f" + tag + "\n}\n";
}

}  // namespace weir::test
