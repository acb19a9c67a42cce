// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel that is cut at algorithms, run one after the other, do what the kernel does without
// the algorithms.
#include "passes/split_algorithms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "interpreter.hpp"
#include "ir/algorithm.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/plan.hpp"
#include "random_kernel.hpp"

namespace weir::test {
namespace {

#ifdef WEIR_SANITIZED
constexpr std::uint64_t seeds = 400;
#else
constexpr std::uint64_t seeds = 4000;
#endif
constexpr std::uint64_t steps = 20'000;

/// An array that can be sorted.
std::optional<std::uint32_t> sortable(const ir::Kernel& kernel) {
  for (std::uint32_t p = 0; p < kernel.parameters.size(); ++p)
    if (kernel.parameters[p].kind == ir::Parameter::Kind::array &&
        kernel.parameters[p].element.shape == ElementType::Shape::scalar)
      return p;
  return std::nullopt;
}

/// The kernel with one to three sorts between statements of its body or of stream blocks.
ir::Kernel with_sorts(ir::Kernel kernel, std::uint32_t array, Choices& choices) {
  for (std::uint64_t i = 0, count = 1 + choices.below(3); i < count; ++i) {
    ir::Statement sort{ir::Op::algorithm};
    sort.index = static_cast<std::uint32_t>(kernel.algorithms.size());
    ir::Algorithm algorithm;
    algorithm.kind = ir::AlgorithmKind::sort;
    algorithm.arrays = {array};
    kernel.algorithms.push_back(std::move(algorithm));
    std::vector<ir::Block*> blocks{&kernel.body};
    for (ir::Statement& s : kernel.body.statements)
      if (s.op == ir::Op::region && s.immediate == 0)
        for (ir::Block& block : s.bodies) blocks.push_back(&block);
    auto& body = blocks[choices.below(blocks.size())]->statements;
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(choices.below(body.size() + 1)), sort);
  }
  return kernel;
}

/// The arguments with arrays for the carried values, which nothing has written.
interpreter::Arguments with_carried(interpreter::Arguments arguments, const passes::SplitKernel& split) {
  for (const passes::CarriedArray& carried : split.carried) {
    arguments.arrays.push_back({{carried.count}, arguments.memories.size(), 0});
    arguments.scalars.emplace_back();
    arguments.memories.emplace_back(size_of(carried.type) * static_cast<std::size_t>(carried.count),
                                    std::byte{0xa5});
  }
  return arguments;
}

std::string text_of(const ir::Kernel& kernel, const passes::SplitKernel& split) {
  std::string text = ir::print(kernel);
  for (const auto& step : split.steps)
    if (const auto* const part = std::get_if<ir::Kernel>(&step)) text += ir::print(*part);
  return text;
}

struct Found {
  int ran = 0, carried = 0, in_regions = 0;
};

void check(std::uint64_t seed, Found& found) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Choices choices(seed);
  const ir::Kernel plain = random_kernel(choices);
  const auto array = sortable(plain);
  if (!array) return;
  const ir::Kernel kernel = with_sorts(plain, *array, choices);
  ASSERT_TRUE(ir::verify(kernel).empty());
  ASSERT_EQ(ir::print(ir::parse(ir::print(kernel))), ir::print(kernel));

  const passes::SplitKernel split = passes::split_at_algorithms(kernel);
  ASSERT_EQ(split.steps.size(), 2 * kernel.algorithms.size() + 1);
  Machine whole(plain, choices);
  interpreter::Arguments arguments = with_carried(whole.arguments(), split);
  const std::size_t memories = whole.arguments().memories.size();
  try {
    whole.run_kernel(steps);
  } catch (const CannotRun&) {
    return;
  }
  for (const auto& step : split.steps) {
    const auto* const part = std::get_if<ir::Kernel>(&step);
    if (!part) continue;
    ASSERT_TRUE(ir::verify(*part).empty()) << ir::print(*part);
    interpreter::Machine machine(*part, std::move(arguments), {}, interpreter::Meaning::lenient);
    ASSERT_NO_THROW(machine.run_kernel(20 * steps)) << text_of(kernel, split);
    arguments = machine.arguments();
  }
  for (std::size_t m = 0; m < memories; ++m)
    ASSERT_EQ(arguments.memories[m], whole.arguments().memories[m]) << text_of(kernel, split);
  ++found.ran;
  found.carried += !split.carried.empty();
  found.in_regions += passes::has_algorithms_in_regions(kernel);
}

TEST(SplitAlgorithms, PartsOfRandomKernelsDoWhatTheKernelDoes) {
  Found found;
  for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) check(seed, found);
  EXPECT_GT(found.ran, static_cast<int>(seeds / 4));
  EXPECT_GT(found.carried, static_cast<int>(seeds / 40));
  EXPECT_GT(found.in_regions, static_cast<int>(seeds / 40));
}

ir::Kernel part_of(const passes::SplitKernel& split, std::size_t step) {
  return std::get<ir::Kernel>(split.steps.at(step));
}

// Constants, scalars, extents and what is computed of them need no memory, and the host knows the bounds.
TEST(SplitAlgorithms, PureValuesAreComputedAgain) {
  const ir::Kernel kernel = ir::parse(R"(weir-ir 1
kernel "k"
  param @x : array<i32, 1>
  param @s : i64
{
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  %2 = arg @s : i64
  %3 = sub %1, %2 : i64
  algorithm.sort.ascending @x
  parallel (%4) in (%0 to %3) {
    %5 = const 1 : i32
    store @x[%4], %5
  }
}
)");
  const passes::SplitKernel split = passes::split_at_algorithms(kernel);
  EXPECT_TRUE(split.carried.empty());
  const passes::Plan first = passes::make_plan(part_of(split, 0), 8),
                     second = passes::make_plan(part_of(split, 2), 8);
  EXPECT_TRUE(first.tasks.empty());
  ASSERT_EQ(second.tasks.size(), 1u);
  EXPECT_EQ(second.tasks[0].high[0].kind, passes::HostBound::Kind::expression);
}

// An array for each value, and stores only where it may have changed.
TEST(SplitAlgorithms, LocalsAreStoredOnlyWhereTheyChange) {
  const ir::Kernel kernel = ir::parse(R"(weir-ir 1
kernel "k"
  param @x : array<i32, 1>
{
  %0 = const 0 : i64
  local $0 : i32
  %1 = load @x[%0] : i32
  set $0, %1
  algorithm.sort.ascending @x
  %2 = get $0 : i32
  store @x[%0], %2
  algorithm.sort.ascending @x
  %3 = get $0 : i32
  %4 = add %3, %1 : i32
  store @x[%0], %4
}
)");
  const passes::SplitKernel split = passes::split_at_algorithms(kernel);
  ASSERT_EQ(split.carried.size(), 1u);
  EXPECT_EQ(split.carried[0].count, 2);
  const auto stores = [&](std::size_t step) {
    const std::string text = ir::print(part_of(split, step));
    std::size_t count = 0;
    for (std::size_t at = text.find("store @carried"); at != std::string::npos;
         at = text.find("store @carried", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(stores(0), 2u);
  EXPECT_EQ(stores(2), 0u);
  EXPECT_EQ(stores(4), 0u);
}

}  // namespace
}  // namespace weir::test
