// SPDX-License-Identifier: Apache-2.0
// Chains of small loops, merged, leave the same memory contents as the kernel, whatever the order of
// iterations.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>

#include "chain_kernel.hpp"
#include "interpreter.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/plan.hpp"
#include "run_plan.hpp"

namespace weir::test {
namespace {

#ifdef WEIR_SANITIZED
constexpr std::uint64_t usual_chains = 60;
#else
constexpr std::uint64_t usual_chains = 1200;
#endif
constexpr std::uint64_t chain_steps = 400'000;

void rename(ir::Block& block, const std::vector<std::uint32_t>& memory) {
  for (ir::Statement& s : block.statements) {
    if (s.op == ir::Op::load || s.op == ir::Op::store || s.op == ir::Op::atomic) s.index = memory[s.index];
    for (ir::Block& body : s.bodies) rename(body, memory);
  }
}

std::uint64_t square_root(const ir::Statement&, std::span<const ScalarType>,
                          std::span<const std::uint64_t> x) {
  return std::bit_cast<std::uint32_t>(std::sqrt(std::bit_cast<float>(static_cast<std::uint32_t>(x[0]))));
}

LaunchData data_of(const ir::Kernel& kernel, const ChainKernel& chain, Choices& choices) {
  LaunchData data;
  data.extents = chain.extents;
  data.launch_key = choices.bits();
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    const ElementType& element = kernel.parameters[p].element;
    std::size_t count = element.components();
    for (const std::int64_t extent : chain.extents[p]) count *= static_cast<std::size_t>(extent);
    auto& components = data.components.emplace_back(count);
    for (std::uint64_t& lane : components) {
      const auto number = static_cast<float>(choices.below(1000)) / 8;
      lane = element.scalar == ScalarType::f32   ? std::bit_cast<std::uint32_t>(number)
             : element.scalar == ScalarType::f64 ? std::bit_cast<std::uint64_t>(double{number})
                                                 : choices.below(100);
    }
  }
  // The two scalars: the smaller extent, and a number beyond most indices.
  std::int64_t least = 5;
  for (const auto& extents : chain.extents)
    if (extents.size() == 2) least = std::min({least, extents[0], extents[1]});
  data.components[kernel.parameters.size() - 2] = {static_cast<std::uint64_t>(least)};
  data.components.back() = {choices.chance(3) ? choices.below(8) : 1000};
  return data;
}

// proves R25, R26 and R27 for random chains
TEST(Chains, MergedLoopsDoWhatTheKernelDoes) {
  // WEIR_CHAINS=N runs that many.
  const char* const wanted = std::getenv("WEIR_CHAINS");
  const std::uint64_t chains = wanted ? std::strtoull(wanted, nullptr, 10) : usual_chains;
  std::uint64_t concurrent = 0, grouped = 0, ran = 0, same = 0, shared = 0, failed = 0, aliased = 0,
                repeated = 0, phases = 0;
  for (std::uint64_t seed = 0; seed < chains && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Choices choices(seed);
    const ChainKernel chain = chain_kernel(choices);
    const ir::Kernel written = ir::parse(chain.text, "chain");
    bool aliases = false;
    for (std::uint32_t p = 0; p < chain.memory.size(); ++p) aliases = aliases || chain.memory[p] != p;
    ir::Kernel kernel = written;
    rename(kernel.body, chain.memory);
    const Machine start(kernel, data_of(kernel, chain, choices), square_root);
    Machine expected = start;
    try {
      expected.run_kernel(chain_steps);
    } catch (const CannotRun&) {
      continue;
    }
    if (expected.failed_between_loops()) continue;
    ++ran;
    failed += expected.failed();
    aliased += aliases;
    const passes::FusionAssumptions known{.no_alias = !aliases, .index32 = true};
    for (const passes::PlanOptions& options :
         {passes::PlanOptions{}, passes::PlanOptions{passes::Fusion::same_space, known},
          passes::PlanOptions{passes::Fusion::shared_index, known},
          passes::PlanOptions{.known = known, .concurrency = true},
          passes::PlanOptions{passes::Fusion::same_space, known, false, true},
          passes::PlanOptions{passes::Fusion::none, {}, true},
          passes::PlanOptions{passes::Fusion::same_space, known, true},
          passes::PlanOptions{passes::Fusion::none, known, true, true}}) {
      passes::Plan plan = passes::make_plan(written, 8, options);
      if (plan.has_merged && !options.phases)
        ++(options.fusion == passes::Fusion::same_space ? same : shared);
      concurrent += plan.has_independent;
      grouped += std::any_of(plan.tasks.begin(), plan.tasks.end(),
                             [](const passes::PlannedTask& planned) { return planned.group != 0; });
      repeated += !plan.repeats.empty();
      phases += std::any_of(plan.tasks.begin(), plan.tasks.end(), [](const passes::PlannedTask& planned) {
        return planned.task.kind == ir::TaskKind::phases;
      });
      for (const bool backward : {false, true}) {
        Machine machine = start;
        if (backward) machine.run_backward();
        std::vector<std::byte> scratch(plan.scratch_bytes, std::byte{0xa5});
        std::vector<ir::Task> tasks;
        for (const passes::PlannedTask& planned : plan.tasks) {
          const auto wrong = ir::verify_task(written, planned.task);
          ASSERT_TRUE(wrong.empty()) << wrong.front().message << ir::print(written, planned.task);
          tasks.push_back(planned.task);
          rename(tasks.back().body, chain.memory);
        }
        const std::vector<std::size_t> order = backward ? backward_blocks(plan) : program_order(plan);
        for_each_task(plan, machine, [&](std::size_t task) {
          machine.run_task(tasks[order[task]], scratch, 20 * chain_steps);
        });
        ASSERT_EQ(machine.contents(), expected.contents())
            << (backward ? "backward\n" : "forward\n") << chain.text;
        ASSERT_EQ(machine.failed(), expected.failed());
      }
    }
  }
  EXPECT_GT(same, chains / 4);
  EXPECT_GT(shared, chains / 4);
  EXPECT_GT(aliased, chains / 12);
  EXPECT_GT(failed, chains / 100);
  EXPECT_GT(repeated, chains / 5);
  EXPECT_GT(phases, chains / 4);
  EXPECT_GT(concurrent, chains / 4);
  EXPECT_GT(grouped, chains / 100);
  RecordProperty("kernels", std::to_string(ran));
  std::cout << ran << " ran, " << same << " merged, " << shared << " also by a shared index, " << aliased
            << " with aliases, " << failed << " failed, " << repeated << " repeat, " << phases
            << " with phases, " << concurrent << " with independent loops\n";
}

}  // namespace
}  // namespace weir::test
