// SPDX-License-Identifier: Apache-2.0
// Which phases of a cooperative task each block runs for itself, and where the blocks of the grid wait.
#include "ir/replicated_phases.hpp"

#include <gmock/gmock.h>

#include "plans.hpp"

namespace weir::test {
namespace {

using testing::SizeIs;

std::string repeated(const std::string& tag, const std::string& body) {
  return "repeat (%k" + tag + ") to %count {\n" + body + "}\n";
}
/// Sets the f32 local `local` to its value and the argument @a.
std::string add_argument(const std::string& local, const std::string& tag) {
  return "%old" + tag + " = get $" + local + " : f32\n%a" + tag + " = arg @a : f32\n%new" + tag +
         " = add %old" + tag + ", %a" + tag + " : f32\nset $" + local + ", %new" + tag + "\n";
}
std::string take_element(const std::string& local, const std::string& tag) {
  return "%e" + tag + " = load @y[%zero] : f32\nset $" + local + ", %e" + tag + "\n";
}
/// Adds the sum of @x to $s.
const std::string add_sum =
    "%sum = reduce.sum (%r) in (%zero to %len) : f32 {\n%w = load @x[%r] : f32\nyield %w\n}\n"
    "%before = get $s : f32\n%after = add %before, %sum : f32\nset $s, %after\n";
const std::string store_s = "%end = get $s : f32\nstore @z[%zero], %end\n";

/// The cooperative task of a kernel, and its phases in the order of the program.
struct Phases {
  explicit Phases(const std::string& body)
      : plan(passes::make_plan(kernel(loaded_count + body), 8, {.cooperative = true})),
        task(cooperative_task()),
        replicated(task) {
    gather(task.body);
  }

  const ir::Task& cooperative_task() {
    for (const passes::PlannedTask& planned : plan.tasks)
      if (planned.task.cooperative) return planned.task;
    throw std::runtime_error("no cooperative task");
  }
  void gather(const ir::Block& block) {
    for (std::size_t i = 0; i < block.statements.size(); ++i) {
      if (block.statements[i].op == ir::Op::phase) places.push_back({&block, i});
      if (block.statements[i].op != ir::Op::phase)
        for (const ir::Block& body : block.statements[i].bodies) gather(body);
    }
  }
  const ir::Statement& operator[](std::size_t k) const {
    return places.at(k).block->statements[places.at(k).index];
  }
  bool grid_waits_after(std::size_t k) const {
    return replicated.grid_waits_after(*places.at(k).block, places.at(k).index);
  }

  struct Place {
    const ir::Block* block;
    std::size_t index;
  };
  passes::Plan plan;
  const ir::Task& task;
  ir::ReplicatedPhases replicated;
  std::vector<Place> places;
};

TEST(ReplicatedPhases, BlocksCombineReductionsAndComputeScalarsForThemselves) {
  const Phases p("local $s : f32\n" + repeated("", fill("x", "1") + add_sum) + store_s);
  ASSERT_THAT(p.places, SizeIs(3));
  EXPECT_TRUE(p.grid_waits_after(0)) << "a loop";
  EXPECT_TRUE(p.replicated.combines_in_each_block(p[1]));
  EXPECT_FALSE(p.grid_waits_after(1)) << "the loop waits before the next chunks";
  EXPECT_TRUE(p.replicated.in_each_block(p[2]));
  EXPECT_FALSE(p.grid_waits_after(2));
  EXPECT_EQ(p.replicated.count_barriers(), 3u)
      << "after the loop, before the combination, and for $s at first";
}

TEST(ReplicatedPhases, ValuesEnterAndLeaveTheTask) {
  const Phases p("local $s : f32\n" + repeated("", fill("x", "1") + add_argument("s", "1")) + store_s);
  ASSERT_THAT(p.replicated.copies(), SizeIs(1));
  EXPECT_TRUE(p.replicated.copies()[0].enters);
  EXPECT_TRUE(p.replicated.copies()[0].leaves);
}

TEST(ReplicatedPhases, ChunksOfALoneReductionAreNotOverwrittenEarly) {
  const Phases p("local $s : f32\n" + repeated("", add_sum) + store_s);
  ASSERT_THAT(p.places, SizeIs(2));
  EXPECT_TRUE(p.grid_waits_after(0));
}

// Another stream or the host may change the array, so that blocks would read different values.
TEST(ReplicatedPhases, OneThreadReadsArraysForAll) {
  const Phases p("local $s : f32\n" + repeated("", fill("x", "1") + take_element("s", "1") + fill("x", "2")) +
                 store_s);
  ASSERT_THAT(p.places, SizeIs(3));
  EXPECT_FALSE(p.replicated.in_each_block(p[1]));
  EXPECT_TRUE(p.grid_waits_after(1));
  EXPECT_THAT(p.replicated.copies(), SizeIs(0));
}

TEST(ReplicatedPhases, BlocksTakeAValueThatOneThreadSetsLessOften) {
  const Phases p("local $s : f32\n" +
                 repeated("0", take_element("s", "1") + fill("x", "1") +
                                   repeated("1", fill("x", "2") + add_argument("s", "2"))) +
                 store_s);
  ASSERT_THAT(p.places, SizeIs(4));
  EXPECT_FALSE(p.replicated.in_each_block(p[0]));
  EXPECT_THAT(p.replicated.set_by_one_block(p[0]), SizeIs(1));
  EXPECT_TRUE(p.replicated.in_each_block(p[3]));
}

TEST(ReplicatedPhases, AValueThatOneThreadSetsAsOftenHasNoCopies) {
  const Phases p("local $s : f32\n" +
                 repeated("", take_element("s", "1") + fill("x", "1") + add_argument("s", "2")) + store_s);
  ASSERT_THAT(p.places, SizeIs(3));
  EXPECT_FALSE(p.replicated.in_each_block(p[2]));
  EXPECT_THAT(p.replicated.copies(), SizeIs(0));
  EXPECT_TRUE(p.grid_waits_after(2));
}

TEST(ReplicatedPhases, TasksWithManyValuesAreLeftAsTheyAre) {
  std::string locals, sums, ends;
  for (int k = 0; k < 65; ++k) {
    const std::string n = std::to_string(k);
    locals += "local $v" + n + " : f32\n";
    sums += add_argument("v" + n, "_" + n);
    ends += "%end" + n + " = get $v" + n + " : f32\nstore @z[%zero], %end" + n + "\n";
  }
  const Phases p(locals + repeated("", fill("x", "1") + sums) + ends);
  ASSERT_THAT(p.places, SizeIs(2));
  EXPECT_THAT(p.replicated.copies(), SizeIs(0));
  EXPECT_FALSE(p.replicated.in_each_block(p[1]));
  EXPECT_TRUE(p.grid_waits_after(1));
}

}  // namespace
}  // namespace weir::test
