// SPDX-License-Identifier: Apache-2.0
// The device in WEIR_DEVICE produces the CPU's bits for every operation, conversion and math function in
// portable mode, over combinations of special values and over random ones. On the CPU, operations are
// compared with the host's evaluator instead, over fewer values.
//
// WEIR_BITS_COUNT=N compares N values per math function instead of 2^24, and fewer of the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <weir/compile.hpp>
#include <weir/error.hpp>
#include <weir/program.hpp>
#include <weir/weir.hpp>

#include "bits_comparison.hpp"
#include "bits_inputs.hpp"
#include "ir/literals.hpp"
#include "ir/parser.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

TEST(Bits, EveryOperationIsGeneratedForGpus) {
  const auto generate = [](const std::vector<Operation>& operations, std::size_t per_kernel) {
    for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
      const auto end = std::min(begin + per_kernel, operations.size());
      const Program program = Program::parse(kernel_text(
          {operations.begin() + std::ptrdiff_t(begin), operations.begin() + std::ptrdiff_t(end)}));
      for (const CompileTarget& target :
           {CompileTarget{"ptx", "sm_90", "+ptx80", "no_alias,index32,aligned,device_local"},
            CompileTarget{"hsaco", "gfx942", "", "no_alias,index32,aligned,device_local"}}) {
        const std::string text = compile_to_text(program, target, "asm");
        EXPECT_EQ(text.find(".approx"), std::string::npos) << operations[begin].words;
        EXPECT_EQ(text.find(".ftz"), std::string::npos) << operations[begin].words;
      }
    }
  };
  generate(arithmetic(), 16);
  generate(conversions(), 16);
  generate(functions(), 4);
  generate(atomics(), 1);
}

/// Vendors' compilers merge operations of all types.
std::vector<Operation> all_chains() {
  std::vector<ScalarType> types{ScalarType::i8,  ScalarType::u8,  ScalarType::i16,
                                ScalarType::u16, ScalarType::f32, ScalarType::f64};
  if (!on_cpu())
    types.insert(types.end(), {ScalarType::i32, ScalarType::u32, ScalarType::i64, ScalarType::u64});
  std::vector<Operation> all;
  for (const ScalarType type : types) {
    std::vector<Operation> some = chains(type);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

/// Calls `f` with kernels of `operations`, with the given number in each.
template <class F>
void for_each_kernel(const std::vector<Operation>& operations, std::size_t per_kernel, F&& f) {
  for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
    const auto end = std::min(begin + per_kernel, operations.size());
    f(Program::parse(
        kernel_text({operations.begin() + std::ptrdiff_t(begin), operations.begin() + std::ptrdiff_t(end)})));
  }
}

/// Instructions that compute with 8 or 16 bits: all with such a type except those that move and convert.
std::set<std::string> narrow_arithmetic(const std::string& ptx) {
  static const std::set<std::string> harmless{"ld", "st", "mov", "cvt", ""};
  std::set<std::string> found;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string instruction;
    words >> instruction;
    if (instruction.starts_with("@")) words >> instruction;
    if (harmless.contains(instruction.substr(0, instruction.find('.')))) continue;
    for (const char* type : {".b8", ".s8", ".u8", ".b16", ".s16", ".u16", "16x2"})
      if (instruction.find(type) != std::string::npos) found.insert(instruction);
  }
  return found;
}

// ptxas 12.8 to 13.3 uses the sign of a 16-bit maximum as a comparison: tests/evidence/ptxas-minmax.md.
// proves R36
TEST(Bits, IntegersOfEightAndSixteenBitsAreComputedInThirtyTwoOnPtx) {
  std::set<std::string> found;
  const auto look = [&](const std::vector<Operation>& operations,
                        std::initializer_list<const char*> assumptions) {
    for_each_kernel(operations, 64, [&](const Program& program) {
      for (const char* assume : assumptions)
        found.merge(narrow_arithmetic(compile_to_text(program, {"ptx", "sm_90", "+ptx80", assume}, "asm")));
    });
  };
  const auto without_halves = [](std::vector<Operation> operations) {
    std::erase_if(operations, [](const Operation& o) {  // selp.b16 moves one of two halves
      return o.words.ends_with(": f16") && o.operands.at(0) == ScalarType::boolean;
    });
    return operations;
  };
  look(without_halves(arithmetic()), {"", "no_alias,index32,aligned,device_local"});
  look(without_halves(conversions()), {"", "no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::i8), {"no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::i16), {"no_alias,index32,aligned,device_local"});
  look(chains(ScalarType::u16), {"no_alias,index32,aligned,device_local"});
  EXPECT_THAT(found, testing::IsEmpty());
}

// LLVM 22 lowers llvm.maximumnum of scalars incorrectly with vfpclass: tests/evidence/llvm-maximumnum.md.
// Nothing else that kernels compute needs the instruction. proves R36
TEST(Bits, MinimaAndMaximaDoNotClassifyOnProcessorsWithAvx512) {
  std::vector<Operation> operations = chains(ScalarType::f32);
  for (const std::vector<Operation>& more : {chains(ScalarType::f64), arithmetic(), conversions()})
    operations.insert(operations.end(), more.begin(), more.end());
  for_each_kernel(operations, 64, [&](const Program& program) {
    for (const char* features : {"+prefer-256-bit", "-prefer-256-bit"}) {
      const std::string text = compile_to_text(program, {"elf-x86_64", "x86-64-v4", features, ""}, "asm");
      EXPECT_EQ(text.find("vfpclass"), std::string::npos);
    }
  });
}

/// Neighbours in the list, which often begin with the same operation, in kernels of their own. In one kernel
/// that operation would have several uses, and compilers merge operations of which one has no other use. Rows
/// of the result have at least `per_kernel` operations, so that no kernel has neighbours from two rows.
std::vector<Operation> in_separate_kernels(const std::vector<Operation>& operations, std::size_t per_kernel) {
  const std::size_t rows = std::max<std::size_t>(operations.size() / per_kernel, 1);
  std::vector<Operation> separate;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = row; i < operations.size(); i += rows) separate.push_back(operations[i]);
  return separate;
}

/// In a line, and one element at a time: compilers merge operations of scalars that they keep apart in
/// vectors. Code for Vulkan has no vectors.
void check_both_ways(const char* what, const std::vector<Operation>& given, std::size_t count,
                     std::size_t per_kernel) {
  const std::vector<Operation> operations = in_separate_kernels(given, per_kernel);
  check(what, operations, count, per_kernel);
  if (tested_device().starts_with("vulkan")) return;
  Tally tally;
  constexpr LoopForm single[] = {LoopForm::single};
  compare_forms(operations, std::max<std::size_t>(count / 16 / 32 * 32, 4096), per_kernel, single, tally);
  summary(what, tally);
  EXPECT_EQ(tally.differences, 0u);
}

TEST(Bits, ChainsOfTwoOperationsAreTheSame) {
  check_both_ways("chains", all_chains(), wanted_count() / 64, 64);
}

TEST(Bits, OperationsWithConstantsAreTheSame) {
  check_both_ways("constants", with_constants(), wanted_count() / 16, 32);
}

TEST(Bits, SelectionsOfTheSmallerOrLargerAreTheSame) {
  check_both_ways("selections", selections(), wanted_count() / 16, 32);
}

TEST(Bits, ComparisonsOfNumbersThatAreNeverNegativeAreTheSame) {
  check_both_ways("signs", compared_signs(), wanted_count() / 16, 32);
}

// A new operation that is missing from all lists fails here.
// proves R36
TEST(Bits, EveryOperationOfTheIrIsInALoopOfEachForm) {
  std::set<std::string> listed;
  for (const auto& list : {arithmetic(), conversions(), functions(), atomics()})
    for (const Operation& operation : list) {
      const std::string word = operation.words.substr(0, operation.words.find(' '));
      listed.insert(word.substr(0, word.find('.')));
      listed.insert(word);
    }
  // Sources, memory and control are in every kernel of this file, or in loop_test, memory_test,
  // reduce_test, group_test and repeat_test. Algorithms are no code of a kernel; algorithms_test has them.
  const std::set<std::string> structure{
      "const",  "arg",      "extent",        "launch_key",    "load",     "store",    "local",
      "get",    "set",      "scratch.load",  "scratch.store", "if",       "while",    "for",
      "break",  "continue", "yield",         "assert",        "print",    "parallel", "reduce",
      "region", "shared",   "shared_atomic", "barrier",       "shuffle",  "ballot",   "threads",
      "repeat", "phase",    "repetition",    "failed",        "algorithm"};
  const std::string operations[] = {
#define WEIR_OP(name, mnemonic, operands, bodies, result) mnemonic,
#include "ir/ops.def"
#undef WEIR_OP
  };
  for (const std::string& mnemonic : operations)
    EXPECT_NE(listed.contains(mnemonic), structure.contains(mnemonic)) << mnemonic;
  const std::string functions[] = {
#define WEIR_MATH(name, operands) "math." #name,
#include "ir/math.def"
#undef WEIR_MATH
  };
  for (const std::string& function : functions) EXPECT_TRUE(listed.contains(function)) << function;
}

// proves R36
TEST(Bits, FormsOfLoopsAreLoweredInDifferentWays) {
  const Operation operation{"max %0, %1 : f32", {ScalarType::f32, ScalarType::f32}, ScalarType::f32};
  const auto lowered = [&](LoopForm form, const char* assume) {
    const Program program = Program::parse(kernel_text({operation}, form));
    return compile_to_text(program, {"hsaco", "gfx942", "", assume}, "llvm");
  };
  const auto has = [](const std::string& text, const char* block) {
    return text.find("\n" + std::string(block) + ":") != std::string::npos;
  };
  constexpr const char* all = "no_alias,index32,aligned,device_local";
  EXPECT_NE(lowered(LoopForm::line, all).find("packet"), std::string::npos);
  EXPECT_NE(lowered(LoopForm::edges, all).find("packet"), std::string::npos);
  EXPECT_TRUE(has(lowered(LoopForm::single, all), "packet.edge"));
  EXPECT_TRUE(has(lowered(LoopForm::tiles, all), "tile"));
  EXPECT_FALSE(has(lowered(LoopForm::tiles, ""), "packet"));
  EXPECT_EQ(lowered(LoopForm::branches, all).find("packet"), std::string::npos);
  EXPECT_EQ(lowered(LoopForm::line, "").find("packet"), std::string::npos);
}

/// All operations in every form of loop, except atomics, which change their operands, and functions.
// proves R36
TEST(Bits, OperationsAreTheSameInEveryLowering) {
  Tally tally;
  const std::size_t count = std::max<std::size_t>(wanted_count() / (on_cpu() ? 16 : 128) / 32 * 32, 96);
  compare_forms(arithmetic(), count, 8, loop_forms, tally);
  compare_forms(conversions(), count, 8, loop_forms, tally);
  summary("lowerings", tally);
  EXPECT_EQ(tally.differences, 0u);
}

// A short loop computes several vectors at a time, with a mask for each: tests/evidence/llvm-kmovb.md.
// proves R36
TEST(Bits, OneConditionalStoreOfABoolIsTheSame) {
  std::vector<Operation> operations;
  for (const auto& list : {arithmetic(), conversions()})
    std::ranges::copy_if(list, std::back_inserter(operations),
                         [](const Operation& o) { return o.result == ScalarType::boolean; });
  Tally tally;
  constexpr LoopForm forms[] = {LoopForm::branches};
  compare_forms(operations, 992, 1, forms, tally);
  summary("conditional stores", tally);
  EXPECT_EQ(tally.differences, 0u);
}

// Vector variants of functions compared with scalar ones.
// proves R36
TEST(Bits, FunctionsAreTheSameInEveryLowering) {
  if (!on_cpu()) GTEST_SKIP() << "functions: GPUs have no vector variants of them";
  Tally tally;
  constexpr LoopForm forms[] = {LoopForm::single, LoopForm::edges, LoopForm::branches, LoopForm::inner_loops};
  compare_forms(functions(), std::max<std::size_t>(wanted_count() / 64 / 32 * 32, 96), 2, forms, tally);
  summary("functions", tally);
  EXPECT_EQ(tally.differences, 0u);
}

TEST(Bits, ArithmeticIsTheSame) {
  check("arithmetic", arithmetic(), wanted_count() / 16, 8);
}

TEST(Bits, ConversionsAreTheSame) {
  check("conversions", conversions(), wanted_count() / 16, 8);
}

TEST(Bits, AtomicsAreTheSame) {
  check("atomics", atomics(), wanted_count() / 16, 1, true);
}

TEST(Bits, MathFunctionsAreTheSame) {
  check("math functions", functions(), wanted_count(), 1);
}

/// Reductions of every kind and type, over one, two and three dimensions, with sizes that leave lanes and
/// chunks partly filled.
TEST(Bits, ReductionsAreTheSame) {
  if (on_cpu()) GTEST_SKIP() << "reductions: needs another device than the CPU to compare; set WEIR_DEVICE";
  Tally tally;
  Stream streams[] = {open(tested_device()).create_stream(), open("cpu").create_stream()};
  const std::vector<std::vector<std::int64_t>> shapes{
      {0},    {1},     {63},        {64},      {65},      {1023},      {1024},
      {1025}, {70000}, {5'000'011}, {3, 1000}, {1000, 3}, {777, 1301}, {40, 50, 60}};
  for (const char* type : {"i8", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "bool"})
    for (std::uint32_t number = 0; number < ir::reduce_kind_count; ++number) {
      ScalarType scalar = ScalarType::boolean;
      for (int t = 0; t <= int(ScalarType::f64); ++t)
        if (to_string(ScalarType(t)) == type) scalar = ScalarType(t);
      if (!ir::reduces(ir::ReduceKind(number), scalar)) continue;
      const std::string kind(to_string(ir::ReduceKind(number)));
      for (const auto& shape : shapes) {
        const std::string rank = std::to_string(shape.size());
        std::string indices, bounds, list, extents;
        for (std::size_t d = 0; d < shape.size(); ++d) {
          const std::string n = std::to_string(d), comma = d ? ", " : "";
          indices += comma + "%i" + n;
          bounds += comma + "%zero to %n" + n;
          extents += "  %n" + n + " = extent @x, " + n + " : i64\n";
        }
        const std::string text = "weir-ir 1\nkernel \"reduce\"\n  param @x : array<" + std::string(type) +
                                 ", " + rank + ">\n  param @r : array<" + type +
                                 ", 1>\n{\n  %zero = const 0 : i64\n" + extents + "  %s = reduce." + kind +
                                 " (" + indices + ") in (" + bounds + ") : " + type +
                                 " {\n    %v = load @x[" + indices + "] : " + type +
                                 "\n    yield %v\n  }\n  store @r[%zero], %s\n}\n";
        const Program program = Program::parse(text);
        std::size_t count = 1;
        for (const std::int64_t extent : shape) count *= std::size_t(extent);
        std::vector<std::byte> values(count * size_of(scalar));
        std::vector<std::byte> all = operands(scalar, count + 90000, 0);
        std::memcpy(values.data(), all.data() + 90000 * size_of(scalar),
                    values.size());  // without special values
        std::uint64_t result[2] = {};
        for (int k = 0; k < 2; ++k) {
          const std::int64_t one[] = {1};
          AnyArray x(streams[k], ElementType{scalar}, shape), r(streams[k], ElementType{scalar}, one);
          x.copy_from_bytes(streams[k], values);
          const LaunchArgument arguments[] = {{&x, nullptr, {}}, {&r, nullptr, {}}};
          program.launch(streams[k], arguments);
          r.copy_to_bytes(streams[k],
                          std::as_writable_bytes(std::span(&result[k], 1)).first(size_of(scalar)));
        }
        tally.values += count;
        ++tally.operations;
        if (result[0] == result[1] || (ir::is_nan(scalar, result[0]) && ir::is_nan(scalar, result[1])))
          continue;
        ++tally.differences;
        ADD_FAILURE() << "reduce." << kind << " of " << count << " " << type << " in " << rank
                      << " dimensions is " << hexadecimal(result[0]) << ", expected "
                      << hexadecimal(result[1]);
      }
    }
  summary("reductions", tally);
}

}  // namespace
}  // namespace weir::test
