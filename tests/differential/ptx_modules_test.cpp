// SPDX-License-Identifier: Apache-2.0
// Each loop of the PTX of random kernels has one entry. Barriers in a loop that has several can hang
// (tests/evidence/ptxas-barrier.md). No code is executed here.
#include <gtest/gtest.h>

#include <weir/compile.hpp>
#include <weir/program.hpp>

#include "aimed_kernel.hpp"
#include "choices.hpp"
#include "ir/printer.hpp"
#include "ptx_flow.hpp"
#include "runnable_kernel.hpp"

namespace weir::test {
namespace {

std::string ptx_of(const std::string& text) {
  const CompiledProgram compiled = compile(Program::parse(text), {"ptx", "sm_90", "+ptx86", ""});
  return {reinterpret_cast<const char*>(compiled.bytes.data()), compiled.bytes.size()};
}

bool loops_have_one_entry(const std::string& ptx) {
  for (const auto& [name, graph] : flow_graphs(ptx))
    if (!is_reducible(graph)) return false;
  return true;
}

TEST(FlowGraphs, OfALoopWithTwoEntriesAreNotReducible) {
  EXPECT_FALSE(is_reducible({{1, 2}, {2}, {1, 2, 3}, {}}));
  EXPECT_TRUE(is_reducible({{1}, {2, 3}, {3}, {1, 4}, {}}));
  const std::string loop =
      ".visible .entry k()\n{\n\t@%p1 bra \t$A;\n\tbra.uni \t$B;\n$A:\n\tadd;\n$B:\n\tbarrier.sync \t0;\n";
  EXPECT_FALSE(loops_have_one_entry(loop + "\t@%p1 bra \t$A;\n\t@%p2 bra \t$B;\n\tret;\n}\n"));
  EXPECT_TRUE(loops_have_one_entry(loop + "\t@%p2 bra \t$B;\n\tret;\n}\n"));
}

TEST(PtxModules, OfRandomKernelsHaveLoopsOfOneEntry) {
  int wrong = 0, branching = 0;
  const auto check = [&](const ir::Kernel& kernel) {
    const std::string text = ir::print(kernel), ptx = ptx_of(text);
    branching += ptx.find("bra ") != ptx.npos && ptx.find("barrier.sync") != ptx.npos;
    if (!loops_have_one_entry(ptx) && ++wrong <= 3) ADD_FAILURE() << text << ptx;
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Choices choices(seed + 7000);
    check(runnable_kernel(choices).kernel);
  }
  const Aim barrier_in_loop{Row::gpu_group_blocks, barrier_in_loop_kind};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Choices choices(seed + 8000);
    check(aimed_kernel(barrier_in_loop, {barrier_in_loop}, choices).kernel);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(branching, 100);
}

}  // namespace
}  // namespace weir::test
