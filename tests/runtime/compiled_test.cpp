// SPDX-License-Identifier: Apache-2.0
// compile() describes a task's arguments well enough for a foreign compiler to launch the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <weir/kernel.hpp>

#include "support/expect_error.hpp"
#include "support/kernels.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using Field = CompiledProgram::Argument;

class Compiled : public testing::Test {
 protected:
  CompiledProgram compile_for_device(const Program& program) const {
    const CodeTarget& code = device.info().code_targets.front();
    return compile(program, {code.format, code.target, device.info().target_features});
  }

  /// A list of the program's tasks, with `arguments` as their parameters.
  TaskList list_of(const CompiledProgram& code, const std::vector<KernelArgument>& arguments,
                   const std::vector<std::vector<std::int64_t>>& extents) {
    const Module module = device.load_module({code.format, code.target, std::span(code.bytes), "compiled"});
    scratch = device.array<std::uint8_t>(stream, std::max<std::int64_t>(std::int64_t(code.scratch_bytes), 1));
    record.fill_zero(stream);
    TaskList list(device);
    for (const CompiledProgram::Task& task : code.tasks) {
      std::vector<KernelArgument> fields;
      for (const Field& field : task.arguments) {
        switch (field.kind) {
          case Field::Kind::array:
            fields.push_back(arguments[field.parameter]);
            break;
          case Field::Kind::extent:
            fields.emplace_back(extents[field.parameter][field.index]);
            break;
          case Field::Kind::scalar:
            fields.emplace_back(
                arguments[field.parameter].bytes().subspan(field.index * field.size, field.size));
            break;
          case Field::Kind::scratch:
            fields.emplace_back(scratch);
            break;
          case Field::Kind::failure_record:
            fields.emplace_back(record);
            break;
          case Field::Kind::launch_key:
            fields.emplace_back(key);
            break;
          case Field::Kind::site_base:
            fields.emplace_back(task.first_site);
            break;
        }
      }
      const auto& [x, y, z] = task.block_threads;
      list.add(module.kernel(task.symbol, task.kernel_parameters()),
               {Dim3(4), Dim3(x, y, z), task.shared_bytes}, fields,
               task.region < 0 ? TaskPlace{} : TaskPlace{task.region, task.block});
    }
    return list;
  }

  Device device = open_real();
  Stream stream = device.create_stream();
  std::uint64_t key = 7;
  Array<std::uint8_t> scratch;
  Array<std::uint8_t> record = device.array<std::uint8_t>(stream, CompiledProgram::failure_record_bytes);
};

TEST_F(Compiled, FieldsHaveTheNamesAndOffsetsOfAModulesKernel) {
  const Kernel kernel{
      "fields",
      [](View<float, 2> image, Value<std::int8_t> small, Value<Vec<float, 3>> colour, Value<double> by) {
        range_for(image.extent(0), image.extent(1), [&](Index i, Index j) {
          image(i, j) = cast<float>(by) * colour[2] + cast<float>(small) + random<float>();
          assert_(image(i, j) < 100.0f, "small");
        });
      },
      {.parameter_names = {"image", "small", "colour", "by"}}};
  const CompiledProgram code = compile_for_device(kernel.program());
  ASSERT_EQ(code.tasks.size(), 1u);
  const CompiledProgram::Task& task = code.tasks[0];
  std::uint32_t end = 0;
  std::vector<std::string> names;
  for (const Field& field : task.arguments) {
    EXPECT_EQ(field.offset, end) << field.name;  // by descending size: no gaps
    end = field.offset + field.size;
    names.push_back(field.name);
  }
  EXPECT_EQ((end + 15) / 16 * 16, task.argument_bytes);
  EXPECT_THAT(names, testing::UnorderedElementsAre("image", "image", "image", "small", "colour", "by",
                                                   "failure_record", "launch_key", "site_base"));
  const auto find = [&](Field::Kind kind, const char* name) {
    return *std::ranges::find_if(
        task.arguments, [&](const Field& field) { return field.kind == kind && field.name == name; });
  };
  const Field colour = find(Field::Kind::scalar, "colour");
  EXPECT_TRUE(colour.parameter == 2 && colour.index == 2 && colour.size == 4 &&
              colour.type == ScalarType::f32);
  const Field small = find(Field::Kind::scalar, "small");
  EXPECT_TRUE(small.parameter == 1 && small.size == 1 && small.type == ScalarType::i8 && !small.is_address());
  EXPECT_TRUE(find(Field::Kind::array, "image").is_address());
  EXPECT_EQ(find(Field::Kind::extent, "image").type, ScalarType::i64);
  EXPECT_EQ(find(Field::Kind::launch_key, "launch_key").type, ScalarType::u64);
}

TEST_F(Compiled, TasksRunFromATaskListAsTheProgramItself) {
  const Kernel kernel{
      "parts", [](View<std::int64_t> x, View<std::int64_t> y, View<std::int64_t> z, Value<std::int32_t> by) {
        const Value<std::int64_t> sum = reduce_sum(x.size(), [&](Index i) { return x[i]; });
        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = sum * cast<std::int64_t>(by); }); });
        stream_parallel([&] { range_for(z.size(), [&](Index i) { z[i] = sum + i; }); });
        range_for(x.size(), [&](Index i) { x[i] = y[i] + z[i]; });
      }};
  constexpr std::int64_t n = 1000;
  std::vector<Array<std::int64_t>> ours, theirs;
  for (std::vector<Array<std::int64_t>>* arrays : {&ours, &theirs})
    for (int i = 0; i < 3; ++i) {
      arrays->push_back(device.array<std::int64_t>(stream, n));
      arrays->back().fill(stream, 2);
    }
  const CompiledProgram code = compile_for_device(kernel.program());
  EXPECT_GT(code.scratch_bytes, 0u);
  const TaskList list = list_of(code, {theirs[0], theirs[1], theirs[2], std::int32_t{3}}, {{n}, {n}, {n}});
  for (int launch = 0; launch < 3; ++launch) {
    kernel(stream, ours[0], ours[1], ours[2], 3);
    list.launch(stream);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(theirs[i].to_host(stream), ours[i].to_host(stream)) << i;
  const std::vector<std::uint8_t> bytes = record.to_host(stream);
  EXPECT_EQ(failure_of(kernel.program(), std::as_bytes(std::span(bytes))), "");
}

// Their grids have four blocks, of which one runs them.
TEST_F(Compiled, StatementsBetweenLoopsAndAfterReductionsRunOnceInAnyGrid) {
  const Kernel kernel{"between", [](View<std::int64_t> x) {
                        x[0] += 1;
                        range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; });
                        x[1] += 1;
                        x[2] += reduce_sum(x.size(), [&](Index i) { return x[i]; });
                      }};
  const auto ours = device.array<std::int64_t>(stream, 300), theirs = device.array<std::int64_t>(stream, 300);
  ours.fill(stream, 5), theirs.fill(stream, 5);
  kernel(stream, ours);
  list_of(compile_for_device(kernel.program()), {theirs}, {{300}}).launch(stream);
  EXPECT_EQ(theirs.to_host(stream), ours.to_host(stream));
}

TEST(CompiledForThisMachine, CodeLoadsInTheCpuDriver) {
  const Kernel kernel{"plain", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); }};
  const CompiledProgram code = compile(kernel.program(), {});
  EXPECT_THAT(code.target, testing::StartsWith("x86-64-v"));
  EXPECT_NO_THROW(open("cpu").load_module({code.format, code.target, code.bytes, "plain"}));
}

TEST_F(Compiled, RepeatsAreOneTask) {
  const Kernel one{"one", [](View<std::int64_t> x) {
                     repeat(3, [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2 + k; }); });
                   }};
  const Kernel nested{"nested", [](View<std::int64_t> x) {
                        repeat(2, [&](Index k) {
                          repeat(3, [&](Index) { range_for(x.size(), [&](Index i) { x[i] += k + 1; }); });
                        });
                      }};
  const Kernel statement{"statement", [](View<std::int64_t> x) { repeat(3, [&](Index) { x[0] += 2; }); }};
  for (const auto* kernel : {&one, &nested, &statement}) {
    const auto ours = device.array<std::int64_t>(stream, 300),
               theirs = device.array<std::int64_t>(stream, 300);
    ours.fill(stream, 5), theirs.fill(stream, 5);
    (*kernel)(stream, ours);
    const CompiledProgram code = compile_for_device(kernel->program());
    EXPECT_EQ(code.tasks.size(), 1u);
    list_of(code, {theirs}, {{300}}).launch(stream);
    EXPECT_EQ(theirs.to_host(stream), ours.to_host(stream)) << kernel->program().name();
  }
}

TEST_F(Compiled, TheSameKeyGivesTheSameRandomNumbers) {
  const Kernel kernel{"noise",
                      [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  const CompiledProgram code = compile_for_device(kernel.program());
  std::vector<std::vector<float>> numbers;
  for (const std::uint64_t each : {7u, 7u, 8u}) {
    const auto x = device.array<float>(stream, 100);
    key = each;
    list_of(code, {x}, {{100}}).launch(stream);
    numbers.push_back(x.to_host(stream));
  }
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_NE(numbers[0], numbers[2]);
}

TEST_F(Compiled, AFailureHasAMessage) {
  const Kernel kernel{"checked",
                      [](View<std::int32_t> x) {
                        range_for(x.size(), [&](Index i) { x[i] = cast<std::int32_t>(i); });
                        range_for(x.size(), [&](Index i) { assert_(x[i] != 70, "no seventy"); });
                      },
                      {.parameter_names = {"x"}}};
  const CompiledProgram code = compile_for_device(kernel.program());
  const auto x = device.array<std::int32_t>(stream, 100);
  const TaskList list = list_of(code, {x}, {{100}});
  list.launch(stream);
  const std::vector<std::uint8_t> bytes = record.to_host(stream);
  EXPECT_THAT(failure_of(kernel.program(), std::as_bytes(std::span(bytes))),
              AllOf(HasSubstr("kernel 'checked': assertion failed: no seventy, in the iteration (70)"),
                    HasSubstr("compiled_test.cpp:")));
  EXPECT_THAT(
      error_of(ErrorCode::invalid,
               [&] { (void)failure_of(kernel.program(), std::as_bytes(std::span(bytes)).first(64)); }),
      HasSubstr("128 bytes; found 64"));
}

}  // namespace
}  // namespace weir::test
