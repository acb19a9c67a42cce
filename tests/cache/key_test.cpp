// SPDX-License-Identifier: Apache-2.0
// The inputs of the key of generated code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weir/error.hpp>

#include "compilation/cached_compiler.hpp"
#include "compilation/canonical_request.hpp"
#include "compilation/kernels.hpp"
#include "passes/plan.hpp"
#include "random_kernel.hpp"
#include "temporary_store.hpp"

namespace weir::test {
namespace {

constexpr const char* identity = "weir-codegen of a test, LLVM 22.1, driver ABI 1";

/// Counts its calls instead of generating code.
class CountingCompiler final : public codegen::Compiler {
 public:
  codegen::CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                              const codegen::Target& target) override {
    ++calls;
    codegen::CodeObject object{target.format, target.cpu, {}, {}};
    for (const char c : kernel.name) object.bytes.push_back(static_cast<std::byte>(c));
    for (const ir::Task* task : tasks) object.entries.push_back({.symbol = task->name});
    return object;
  }
  std::string emit_text(const ir::Kernel&, std::span<const ir::Task* const>, const codegen::Target&,
                        std::string_view) override {
    return "text";
  }
  int calls = 0;
};

CountingCompiler& generator() {
  static CountingCompiler one;
  return one;
}

/// A kernel of one loop with some part changed.
struct Given {
  std::string first = "", last = "";  ///< further parameters
  std::string kernel = "scale", x = "x", value = "scaled", factor = "2", options = "", comment = "";
  std::string before = "";  ///< statements before the loop
  std::string check = "";   ///< in the loop
  std::string after = "";   ///< after the loop
  codegen::Target target{"elf-x86_64", "x86-64-v3", "+avx2", 1, 1};
  std::string build = identity;

  std::string text() const {
    return "weir-ir 1\n" + comment + "kernel \"" + kernel + "\"" + options + "\n" + first + "  param @" + x +
           " : array<f32, 1>\n" + last + "{\n  %zero = const 0 : i64\n  %n = extent @" + x + ", 0 : i64\n" +
           before + "  parallel (%i) in (%zero to %n) {\n    %f = const " + factor +
           " : f32\n    %v = load @" + x + "[%i] : f32\n" + check + "    %" + value +
           " = mul %f, %v : f32\n    store @" + x + "[%i], %" + value + "\n  }\n" + after + "}\n";
  }
};

std::string assertion(const std::string& words) {
  return "    %ok = lt %i, %n : bool\n    assert %ok, \"" + words + "\"\n";
}

constexpr const char* second_loop = R"(  parallel (%j) in (%zero to %n) {
    %w = load @x[%j] : f32
    %r = add %w, %w : f32
    store @x[%j], %r
  }
)";
// The same loop with the first one, as blocks of a region.
constexpr const char* in_a_region = R"(  region {
    parallel (%j) in (%zero to %n) {
      %w = load @x[%j] : f32
      %r = add %w, %w : f32
      store @x[%j], %r
    }
  }
)";

class Key : public testing::Test {
 protected:
  /// Whether code for `given` was generated, rather than found.
  bool generates(const Given& given) {
    const PlannedKernel kernel(given.text());
    return generates(kernel, given);
  }
  bool generates(const PlannedKernel& kernel, const Given& given = {}) {
    const int before = generator().calls;
    cache::Settings settings = TemporaryStore(folder.path() / "code").store->settings();
    settings.warn = [](const std::string& problem) { ADD_FAILURE() << problem; };
    compilation::CachedCompiler compiler(settings, given.build,
                                         []() -> codegen::Compiler& { return generator(); });
    EXPECT_EQ(compiler.compile(kernel.kernel, kernel.tasks, given.target).entries.size(),
              kernel.tasks.size());
    return generator().calls != before;
  }

  TemporaryFolder folder;
};

// proves R31
TEST_F(Key, IsTheSameForTheSameCode) {
  ASSERT_TRUE(generates(Given{}));
  EXPECT_FALSE(generates(Given{})) << "the same";
  EXPECT_FALSE(generates(Given{.kernel = "other"})) << "the same loop in another kernel";
  EXPECT_FALSE(generates(Given{.x = "renamed"})) << "a parameter renamed";
  EXPECT_FALSE(generates(Given{.first = "  param @a : array<f64, 3>\n  param @b : i32\n"}))
      << "others before it";
  EXPECT_FALSE(generates(Given{.last = "  param @a : array<f32, 1>\n"})) << "another one after it";
  for (const char* const planned : {" no_fusion", " no_phases", " no_concurrency", " deterministic"})
    EXPECT_FALSE(generates(Given{.options = planned})) << "an option for planning only: " << planned;
  EXPECT_FALSE(generates(Given{.value = "result"})) << "a value renamed";
  EXPECT_FALSE(generates(Given{.comment = "// a comment\n\n\n"})) << "a comment and empty lines";
  EXPECT_FALSE(generates(Given{.before = "  %unused = const 7 : i64\n"})) << "values with other numbers";
  ASSERT_TRUE(generates(Given{.check = assertion("in range")}));
  EXPECT_FALSE(generates(Given{.check = assertion("another text")})) << "the text of an assert";
  ASSERT_TRUE(generates(Given{.options = " fast_math check_bounds"}));
  EXPECT_FALSE(generates(Given{.options = " check_bounds fast_math"})) << "the order of options";
}

/// The inputs of the keys of a kernel's tasks, each compiled alone.
std::vector<std::string> inputs_of(const ir::Kernel& kernel) {
  std::vector<std::string> inputs;
  const passes::Plan plan = passes::make_plan(kernel, 8);
  for (const passes::PlannedTask& planned : plan.tasks) {
    const ir::Task* const task = &planned.task;
    inputs.push_back(compilation::canonical_request(kernel, {&task, 1}, Given{}.target).input);
  }
  return inputs;
}

// proves R31
TEST_F(Key, DoesNotDependOnTheNumbersOfValues) {
  std::uint32_t planned = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    std::vector<std::string> inputs;
    try {
      inputs = inputs_of(kernel);
    } catch (const Error&) {  // blocks of a region conflict
      continue;
    }
    ++planned;
    ASSERT_EQ(inputs_of(renumbered(kernel, choices)), inputs) << "seed " << seed;
  }
  EXPECT_GT(planned, 100u);
}

// proves R31
TEST_F(Key, IsAnotherForEachChangeOfTheCode) {
  ASSERT_TRUE(generates(Given{}));
  EXPECT_TRUE(generates(Given{.factor = "2.0000002"})) << "one bit of a constant";
  EXPECT_TRUE(generates(Given{.options = " fast_math"}));
  EXPECT_TRUE(generates(Given{.options = " min_resident_threads 512"}));
  EXPECT_TRUE(generates(Given{.options = " min_resident_threads 1024"}));
  EXPECT_TRUE(generates(Given{.options = " check_bounds"}));
  EXPECT_TRUE(generates(Given{.check = assertion("in range")}));
  EXPECT_TRUE(generates(Given{.after = second_loop})) << "a second task";
}

// proves R31
TEST_F(Key, IsAnotherForEachTargetAndBuild) {
  ASSERT_TRUE(generates(Given{}));
  const auto with = [](auto&& change) {
    Given given;
    change(given.target);
    return given;
  };
  EXPECT_TRUE(generates(with([](auto& target) { target.format = "hsaco"; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.cpu = "x86-64-v4"; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.features = "+avx2,+fma"; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.lanes = 32; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.max_block_threads = 256; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.assumptions.no_alias = true; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.assumptions.index32 = true; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.assumptions.aligned = true; })));
  EXPECT_TRUE(generates(with([](auto& target) { target.assumptions.device_local = true; })));
  EXPECT_TRUE(generates(Given{.build = "weir-codegen of a test, LLVM 22.2, driver ABI 1"}));
  EXPECT_TRUE(generates(Given{.build = "weir-codegen of a test, LLVM 22.1, driver ABI 2"}));
  EXPECT_FALSE(generates(Given{}));
}

// proves R29, R31
TEST_F(Key, CoversWhichTasksAreCompiledTogether) {
  const PlannedKernel both(Given{.after = second_loop}.text());
  ASSERT_EQ(both.tasks.size(), 2u);
  ASSERT_TRUE(generates(both));
  PlannedKernel one(Given{.after = second_loop}.text());
  one.tasks.pop_back();
  EXPECT_TRUE(generates(one)) << "one task alone";
  EXPECT_FALSE(generates(Given{})) << "which is the kernel with only this loop";
  PlannedKernel swapped(Given{.after = second_loop}.text());
  std::swap(swapped.tasks[0], swapped.tasks[1]);
  EXPECT_TRUE(generates(swapped)) << "their order";
  EXPECT_FALSE(generates(Given{.after = in_a_region})) << "regions do not change the code of their tasks";
  // As a pass that joins tasks leaves them: the statements of both in one.
  PlannedKernel joined(Given{.after = second_loop}.text());
  ir::Task& into = joined.plan.tasks[0].task;
  const ir::Block& from = joined.plan.tasks[1].task.body.statements.back().bodies.at(0);
  std::vector<ir::Statement>& loop = into.body.statements.back().bodies.at(0).statements;
  loop.insert(loop.end(), from.statements.begin(), from.statements.end());
  joined.tasks.pop_back();
  EXPECT_TRUE(generates(joined)) << "a task made of both";
}

// proves R31
TEST_F(Key, IsTheSameWhenAKernelMovesInItsFile) {
  const auto at_line = [](std::uint32_t line) {
    auto kernel = std::make_unique<PlannedKernel>(Given{}.text());
    kernel->kernel.files = {"kernel.cpp"};
    for (passes::PlannedTask& planned : kernel->plan.tasks) {
      planned.task.location = {0, line, 1};
      for (ir::Statement& statement : planned.task.body.statements) statement.location = {0, line + 1, 3};
    }
    return kernel;
  };
  ASSERT_TRUE(generates(*at_line(10)));
  EXPECT_FALSE(generates(*at_line(11)));
  const auto elsewhere = at_line(10);
  elsewhere->kernel.files = {"/another/folder/kernel.cpp"};
  EXPECT_FALSE(generates(*elsewhere));
}

TEST_F(Key, CodeForTheProcessorOfThisMachineIsNotKept) {
  Given given;
  given.target.cpu = "native";
  EXPECT_TRUE(generates(given));
  EXPECT_TRUE(generates(given));
}

TEST(GeneratorIdentity, NamesEverythingThatTheCodeDependsOn) {
  const std::string text = compilation::generator_identity();
  for (const char* part : {"weir-codegen of Weir", "LLVM 22", "bytes of", "driver ABI"})
    EXPECT_THAT(text, testing::HasSubstr(part));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("absent")));
}

}  // namespace
}  // namespace weir::test
