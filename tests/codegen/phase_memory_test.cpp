// SPDX-License-Identifier: Apache-2.0
// The block's memory of tasks whose phases need memory of several kinds.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "passes/plan.hpp"

namespace weir::test {
namespace {

constexpr codegen::LaunchAssumptions everything{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};
constexpr const char* without_subgroups =
    "+int8,+int16,+int64,+float16,+float64,+atomic-int64,+mode-denormals-f32,+mode-specials-f32,"
    "+mode-rte-f32";

/// Repeats a histogram and reductions of several types.
std::string phases_of_all_kinds() {
  std::string text = R"(weir-ir 1
kernel "all"
  param @i : array<u8, 1>
  param @bins : array<u32, 1>
  param @sums : array<f64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = const 4096 : i64
  %count = const 1 : u32
  repeat (%k) to %one while {
    %true = const true : bool
    yield %true
  } do {
    parallel (%h) in (%zero to %n) {
      %v = load @i[%h] : u8
      %bin = cast %v : i64
      %old = atomic.add @bins[%bin], %count : u32
    }
)";
  for (const std::string type : {"f64", "f32", "i64", "u32", "i16", "i8"})
    text += "    %sum_" + type + " = reduce.sum (%i_" + type + ") in (%zero to %n) : " + type +
            " {\n      %x_" + type + " = load @i[%i_" + type + "] : u8\n      %y_" + type + " = cast %x_" +
            type + " : " + type + "\n      yield %y_" + type + "\n    }\n    %d_" + type + " = cast %sum_" +
            type + " : f64\n    store @sums[%zero], %d_" + type + "\n";
  return text + "  }\n}\n";
}

/// One loop with sequential loops in one another that read an array completely, and a sum.
constexpr const char* loop_and_sum = R"(weir-ir 1
kernel "sum"
  param @x : array<f32, 1>
  param @sum : array<f64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $sum : f32
    for %a = %zero to %n step %one {
      %x1 = load @x[%a] : f32
      %s1 = get $sum : f32
      %t1 = add %x1, %s1 : f32
      set $sum, %t1
      for %b = %zero to %n step %one {
        %x2 = load @x[%b] : f32
        %s2 = get $sum : f32
        %t2 = add %x2, %s2 : f32
        set $sum, %t2
      }
    }
    %s = get $sum : f32
    %d = cast %s : f64
    %old = atomic.add @sum[%zero], %d : f64
  }
}
)";

std::vector<std::byte> compile(const std::string& text, const codegen::Target& target) {
  const ir::Kernel kernel = ir::parse(text, "test");
  const passes::Plan plan = passes::make_plan(kernel, 8, {.phases = true});
  std::vector<const ir::Task*> tasks;
  for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  return weir_codegen(weir_codegen_abi)->compile(kernel, tasks, target).bytes;
}

/// The bytes of all variables of PTX in the block's memory.
std::uint64_t shared_bytes(const std::string& ptx) {
  static const std::regex variable(R"(\.shared \.align \d+ \.b8 \w+\[(\d+)\])");
  std::uint64_t bytes = 0;
  for (auto at = std::sregex_iterator(ptx.begin(), ptx.end(), variable); at != std::sregex_iterator(); ++at)
    bytes += std::stoull((*at)[1]);
  return bytes;
}

/// The bytes of all variables of a SPIR-V module with the storage class Workgroup. The numbers of
/// instructions are those of the SPIR-V specification, section 3.
std::uint64_t workgroup_bytes(const std::vector<std::byte>& module) {
  std::vector<std::uint32_t> words(module.size() / 4);
  std::memcpy(words.data(), module.data(), module.size());
  std::map<std::uint32_t, std::uint64_t> constants, sizes;
  std::map<std::uint32_t, std::uint32_t> pointees;
  std::uint64_t bytes = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t* const i = &words[at];
    switch (i[0] & 0xffff) {
      case 21:  // OpTypeInt
        sizes[i[1]] = i[2] / 8;
        break;
      case 28:  // OpTypeArray
        sizes[i[1]] = sizes.at(i[2]) * constants.at(i[3]);
        break;
      case 32:  // OpTypePointer
        if (i[2] == 4) pointees[i[1]] = i[3];
        break;
      case 43:  // OpConstant
        constants[i[2]] = i[3];
        break;
      case 59:  // OpVariable
        if (i[3] == 4) bytes += sizes.at(pointees.at(i[1]));
        break;
      default:
        break;
    }
  }
  return bytes;
}

std::uint64_t bytes_on_cuda(const std::string& text) {
  const std::vector<std::byte> ptx = compile(text, {"ptx", "sm_90", "+ptx86", 32, 1024, everything});
  return shared_bytes(std::string(reinterpret_cast<const char*>(ptx.data()), ptx.size()));
}

std::uint64_t bytes_on_vulkan(const std::string& text) {
  return workgroup_bytes(
      compile(text, {"spirv-vulkan", "vulkan1.3", without_subgroups, 1, 1024, everything}));
}

// Counters take 16 KiB.
TEST(PhaseMemory, IsThatOfTheLargestPhase) {
  EXPECT_EQ(bytes_on_cuda(phases_of_all_kinds()), 16u * 1024);
}

// Counters take 12 KiB there. Values of 8 and 16 bits have memory of their own. Devices with Vulkan may have
// 16 KiB only.
TEST(PhaseMemory, IsThatOfTheLargestPhaseForEachSizeOfValuesOnVulkan) {
  const std::uint64_t bytes = bytes_on_vulkan(phases_of_all_kinds());
  EXPECT_GT(bytes, 12u * 1024);
  EXPECT_LE(bytes, (12u + 2 + 1) * 1024);
}

TEST(PhaseMemory, OfASumIsThatOfItsLoop) {
  EXPECT_EQ(bytes_on_cuda(loop_and_sum), 32u * 1024);
}

}  // namespace
}  // namespace weir::test
