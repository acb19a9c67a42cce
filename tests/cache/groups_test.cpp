// SPDX-License-Identifier: Apache-2.0
// Groups of tasks: how a kernel is cut, and that groups are compiled at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "compilation/kernels.hpp"
#include "compilation/task_groups.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using compilation::compile_groups;
using compilation::task_groups;
using compilation::TaskGroup;

/// A kernel with a loop of so many statements for each element.
PlannedKernel kernel_of(const std::vector<int>& loops) {
  std::string text =
      "weir-ir 1\nkernel \"groups\"\n  param @x : array<f32, 1>\n{\n  %zero = const 0 : i64\n"
      "  %n = extent @x, 0 : i64\n";
  for (std::size_t loop = 0; loop < loops.size(); ++loop) {
    const std::string v = "%v" + std::to_string(loop) + "_";
    text += "  parallel (%i" + std::to_string(loop) + ") in (%zero to %n) {\n";
    const std::string at = "@x[%i" + std::to_string(loop) + "]";
    text += "    " + v + "0 = load " + at + " : f32\n";
    for (int i = 1; i < loops[loop]; ++i)
      text += "    " + v + std::to_string(i) + " = add " + v + std::to_string(i - 1) + ", " + v + "0 : f32\n";
    text += "    store " + at + ", " + v + std::to_string(loops[loop] - 1) + "\n  }\n";
  }
  return PlannedKernel(text + "}\n");
}

std::vector<std::size_t> sizes(const PlannedKernel& kernel) {
  std::vector<std::size_t> result;
  for (const TaskGroup group : task_groups(kernel.tasks)) result.push_back(group.size());
  return result;
}

TEST(TaskGroups, LongTasksAreAloneAndShortOnesTogether) {
  EXPECT_EQ(sizes(kernel_of({5})), std::vector<std::size_t>{1});
  EXPECT_EQ(sizes(kernel_of({5, 5, 5})), std::vector<std::size_t>{3});
  EXPECT_EQ(sizes(kernel_of({100, 100, 100})), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(sizes(kernel_of({5, 5, 100, 5, 5})), (std::vector<std::size_t>{3, 2}));
  const PlannedKernel kernel = kernel_of({30, 30, 30, 30, 30});
  std::size_t next = 0;
  for (const TaskGroup group : task_groups(kernel.tasks))
    for (const ir::Task* task : group) EXPECT_EQ(task, kernel.tasks[next++]);
  EXPECT_EQ(next, kernel.tasks.size());
}

/// Each call waits until `awaited` calls run at once; fails for the tasks in `failing`.
class Meeting final : public codegen::Compiler {
 public:
  explicit Meeting(unsigned awaited, std::vector<std::string> failing = {})
      : awaited_(awaited), failing_(std::move(failing)) {}
  codegen::CodeObject compile(const ir::Kernel&, std::span<const ir::Task* const> tasks,
                              const codegen::Target& target) override {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    met = changed_.wait_for(lock, std::chrono::seconds(60), [&] { return inside_ >= awaited_; }) && met;
    for (const std::string& name : failing_)
      if (name == tasks[0]->name) throw Error(ErrorCode::compile, "no code for " + name);
    return {target.format, target.cpu, {}, {{.symbol = tasks[0]->name}}};
  }
  std::string emit_text(const ir::Kernel&, std::span<const ir::Task* const>, const codegen::Target&,
                        std::string_view) override {
    return "";
  }
  bool met = true;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned inside_ = 0;
  const unsigned awaited_;
  const std::vector<std::string> failing_;
};

const codegen::Target target{"elf-x86_64", "x86-64-v3", "", 1, 1};

TEST(TaskGroups, AreCompiledAtOnceAndReturnedInOrder) {
  const PlannedKernel kernel = kernel_of({100, 100, 100, 100, 100});
  const unsigned processors = std::max(std::thread::hardware_concurrency(), 1u);
  Meeting compiler(std::min(processors, 5u));
  const auto objects = compile_groups(compiler, kernel.kernel, task_groups(kernel.tasks), target);
  EXPECT_TRUE(compiler.met) << "one group was compiled after the other";
  ASSERT_EQ(objects.size(), 5u);
  for (std::size_t i = 0; i < objects.size(); ++i)
    EXPECT_EQ(objects[i].entries.at(0).symbol, kernel.tasks[i]->name);
}

TEST(TaskGroups, TheErrorOfAGroupIsThrown) {
  const PlannedKernel kernel = kernel_of({100, 100, 100});
  for (const ir::Task* task : kernel.tasks) {
    Meeting compiler(1, {task->name});
    const Error error =
        thrown_by([&] { compile_groups(compiler, kernel.kernel, task_groups(kernel.tasks), target); });
    EXPECT_EQ(error.what(), "no code for " + task->name);
  }
}

}  // namespace
}  // namespace weir::test
