// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations read elements of vectors that they wrote: LLVM's vectoriser moves accesses to
// neighbouring components together, and in loops declared independent it does so across stores.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/parser.hpp"
#include "launcher.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

/// Compares a loop over the elements of @x with the interpreter. `memory` is RunnableKernel::memory.
void expect_same(const std::string& body, std::vector<std::uint32_t> memory) {
  const std::string text =
      "weir-ir 1\nkernel \"order\"\nparam @x : array<vec<f32, 3>, 1>\nparam @y : array<vec<f32, 3>, 1>\n"
      "param @z : array<f32, 1>\nparam @w : array<f32, 1>\n{\n%zero = const 0 : i64\n"
      "%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n" +
      body + "}\n}\n";
  RunnableKernel runnable;
  runnable.kernel = ir::parse(text, "order");
  runnable.extents.assign(4, {1000});
  runnable.memory = std::move(memory);
  Choices choices(1);
  const LaunchData data = random_data(runnable, choices);
  ir::Kernel one_memory = runnable.kernel;
  for (ir::Statement& s : one_memory.body.statements.back().bodies[0].statements)
    if (s.op == ir::Op::load || s.op == ir::Op::store) s.index = runnable.memory[s.index];
  Machine machine(one_memory, data, {});
  machine.run_kernel(1'000'000);
  const Components expected = components_of(runnable, machine);
  Launch launch(runnable, data, open(tested_device()));
  launch.submit(Program::parse(text), {});
  EXPECT_FALSE(launch.finish().has_value());
  EXPECT_EQ(difference(runnable, launch.components(), expected), "") << text;
}

// proves R26
TEST(Order, AComponentIsReadAfterAnotherArgumentWroteIt) {
  const std::string body =
      "%a = load @y[%i].0 : f32\nstore @x[%i].2, %a\n%b = load @z[%i] : f32\nstore @x[%i].1, %b\n"
      "%c = load @y[%i].1 : f32\nstore @y[%i].0, %c\n";
  expect_same(body, {0, 0, 2, 3});
  expect_same(body, {0, 1, 2, 3});
}

TEST(Order, AComponentIsReadAfterABranchWroteIt) {
  const std::string body =
      "%a = load @x[%i].0 : f32\n%w = load @w[%i] : f32\n%c = lt %w, %a : bool\nif %c {\n"
      "%z = load @z[%i] : f32\n%d = lt %w, %z : bool\nif %d {\nstore @x[%i].1, %z\n}\n}\n"
      "%b = load @x[%i].1 : f32\n%s = add %a, %b : f32\nstore @x[%i].0, %s\n";
  expect_same(body, {0, 1, 2, 3});
  expect_same("%v = load @w[%i] : f32\nstore @y[%i].2, %v\n" + body, {0, 0, 2, 3});
}

TEST(Order, AComponentIsWrittenAgainInABranch) {
  expect_same(
      "%a = load @z[%i] : f32\n%b = load @w[%i] : f32\nstore @x[%i].0, %a\n%c = lt %b, %a : bool\nif %c {\n"
      "store @x[%i].0, %b\n}\n%s = add %a, %b : f32\nstore @x[%i].1, %s\nstore @x[%i].2, %b\n",
      {0, 1, 2, 3});
}

}  // namespace
}  // namespace weir::test
