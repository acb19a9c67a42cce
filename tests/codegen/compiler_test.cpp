// SPDX-License-Identifier: Apache-2.0
// The whole compiler: loops become vector code, invalid targets are refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>
#include <weir/error.hpp>

#include "harness.hpp"
#include "ir/parser.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr const char* stencil = R"(weir-ir 1
kernel "stencil"
param @y: array<f32, 2>
param @x: array<f32, 2>
{
  %one = const 1 : i64
  %h = extent @y, 0 : i64
  %w = extent @y, 1 : i64
  %h1 = sub %h, %one : i64
  %w1 = sub %w, %one : i64
  parallel (%i, %j) in (%one to %h1, %one to %w1) {
    %up = sub %i, %one : i64
    %left = sub %j, %one : i64
    %right = add %j, %one : i64
    %a = load @x[%up, %j] : f32
    %b = load @x[%i, %left] : f32
    %c = load @x[%i, %right] : f32
    %d = add %a, %b : f32
    %e = add %d, %c : f32
    store @y[%i, %j], %e
  }
}
)";

std::string map(const std::string& function, const std::string& type) {
  return "weir-ir 1\nkernel \"map\"\nparam @x: array<" + type +
         ", 1>\n{\n  %zero = const 0 : i64\n  %n = extent @x, 0 : i64\n"
         "  parallel (%i) in (%zero to %n) {\n    %v = load @x[%i] : " +
         type + "\n    %r = math." + function + " %v : " + type + "\n    store @x[%i], %r\n  }\n}\n";
}

TEST(Vectorising, RowsOfAStencilAreVectorCodeWithoutAliasChecks) {
  const std::string text = emit(stencil, "llvm-opt");
  EXPECT_THAT(text, HasSubstr("x float> "));
  EXPECT_GE(occurrences(text, "store <"), 1u);
  EXPECT_EQ(occurrences(text, "memcheck"), 0u);
}

// A loop over the rows of an array reads with a stride that only the launch knows.
TEST(Vectorising, ColumnsAreVectorCodeWithoutChecksOfTheirStrides) {
  const std::string text = emit(R"(weir-ir 1
kernel "column"
param @x: array<f32, 2>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @y, 0 : i64
  parallel (%i) in (%zero to %n) {
    %a = load @x[%i, %zero] : f32
    %b = load @x[%i, %one] : f32
    %c = load @y[%i] : f32
    %p = div %a, %b : f32
    %q = div %p, %c : f32
    %r = math.sqrt %q : f32
    store @y[%i], %r
  }
}
)",
                                "llvm-opt");
  EXPECT_GE(occurrences(text, "store <"), 1u);
  EXPECT_EQ(occurrences(text, "ident.check"), 0u);
}

TEST(Vectorising, TransposedStoresAndNarrowElementsAreScalarCode) {
  const auto transposed = [](const std::string& type, const std::string& from, const std::string& to) {
    return emit("weir-ir 1\nkernel \"transpose\"\nparam @x: array<" + type + ", 2>\nparam @y: array<" + type +
                    ", 2>\n{\n  %zero = const 0 : i64\n  %n = extent @x, 0 : i64\n"
                    "  parallel (%i, %j) in (%zero to %n, %zero to %n) {\n    %v = load @x[" +
                    from + "] : " + type + "\n    %s = add %v, %v : " + type + "\n    store @y[" + to +
                    "], %s\n  }\n}\n",
                "llvm-opt");
  };
  EXPECT_EQ(occurrences(transposed("f32", "%i, %j", "%j, %i"), "vector.body"), 0u);
  EXPECT_EQ(occurrences(transposed("u8", "%j, %i", "%i, %j"), "vector.body"), 0u);
}

/// Adds up the rows of an array.
std::string sum_of_rows(int rows) {
  std::string text =
      "weir-ir 1\nkernel \"rows\"\nparam @x: array<f32, 2>\nparam @y: array<f32, 1>\n{\n"
      "  %zero = const 0 : i64\n  %n = extent @y, 0 : i64\n"
      "  parallel (%i) in (%zero to %n) {\n    %s0 = load @y[%i] : f32\n";
  for (int k = 0; k < rows; ++k) {
    const std::string n = std::to_string(k);
    text += "    %k" + n + " = const " + n + " : i64\n    %v" + n + " = load @x[%k" + n +
            ", %i] : f32\n    %s" + std::to_string(k + 1) + " = add %s" + n + ", %v" + n + " : f32\n";
  }
  return text + "    store @y[%i], %s" + std::to_string(rows) + "\n  }\n}\n";
}

// The row of @y is one more stream.
TEST(Prefetching, IsForLoopsOverMoreStreamsThanHardwareFollows) {
  EXPECT_EQ(occurrences(emit(sum_of_rows(40), "llvm-opt"), "call void @llvm.prefetch"), 41u);
  EXPECT_EQ(occurrences(emit(sum_of_rows(20), "llvm-opt"), "call void @llvm.prefetch"), 0u);
}

TEST(Vectorising, LocalsOfAnIterationBecomeRegisters) {
  const std::string text = emit(R"(weir-ir 1
kernel "newton"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %four = const 4 : i64
  %half = const 0.5 : f32
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $y : f32
    %a = load @x[%i] : f32
    set $y, %a
    for %k = %zero to %four step %one {
      %y = get $y : f32
      %q = div %a, %y : f32
      %s = add %y, %q : f32
      %m = mul %s, %half : f32
      set $y, %m
    }
    %r = get $y : f32
    store @x[%i], %r
  }
}
)",
                                "llvm-opt");
  EXPECT_EQ(occurrences(text, "alloca"), 0u);
  EXPECT_GE(occurrences(text, "fdiv <"), 1u);
}

class VectorMath : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(VectorMath, BecomesVectorCode) {
  const auto [function, type] = GetParam();
  const std::string text = emit(map(function, type), "llvm-opt");
  EXPECT_GE(occurrences(text, "store <"), 1u) << function << " " << type;
}

INSTANTIATE_TEST_SUITE_P(Functions, VectorMath,
                         testing::Values(std::pair{"sin", "f32"}, std::pair{"cos", "f32"},
                                         std::pair{"exp", "f32"}, std::pair{"exp2", "f32"},
                                         std::pair{"log", "f32"}, std::pair{"tanh", "f32"},
                                         std::pair{"sqrt", "f32"}, std::pair{"sin", "f64"},
                                         std::pair{"exp", "f64"}, std::pair{"log", "f64"},
                                         std::pair{"floor", "f64"}));

TEST(Vectorising, SumsRunInVectorRegisters) {
  const std::string text = emit(R"(weir-ir 1
kernel "sum"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %r = reduce.sum (%i) in (%zero to %n) : f32 {
    %v = load @x[%i] : f32
    yield %v
  }
}
)",
                                "llvm-opt");
  EXPECT_GE(occurrences(text, "fadd <"), 1u);
}

TEST(Vectorising, StopsBeforeBodiesOfThousandsOfOperations) {
  const auto chain = [](int length) {
    std::string body = "    %v0 = load @x[%i] : f32\n";
    for (int k = 1; k < length; ++k) {
      const std::string before = "%v" + std::to_string(k - 1);
      body += "    %v" + std::to_string(k) + (k % 2 ? " = mul " : " = add ") + before + ", " + before +
              " : f32\n";
    }
    return "weir-ir 1\nkernel \"chain\"\nparam @x: array<f32, 1>\n{\n  %zero = const 0 : i64\n  %n = extent "
           "@x, 0 : i64\n"
           "  parallel (%i) in (%zero to %n) {\n" +
           body + "    store @x[%i], %v" + std::to_string(length - 1) + "\n  }\n}\n";
  };
  EXPECT_GE(occurrences(emit(chain(1000), "llvm-opt"), "store <"), 1u);
  EXPECT_EQ(occurrences(emit(chain(5000), "llvm-opt"), "store <"), 0u);
}

TEST(Compiler, NamesTheSymbolsOfTheTasksInOrder) {
  const Code code{std::string(stencil)};
  ASSERT_EQ(code.object().entries.size(), 1u);
  EXPECT_EQ(code.object().entries[0].symbol, "task_0");
  EXPECT_EQ(code.object().format, "elf-x86_64");
}

TEST(Compiler, CompilesInSeveralThreadsAtOnce) {
  const std::vector<std::byte> expected = Code{std::string(stencil)}.object().bytes;
  std::atomic<int> equal = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) equal += Code{std::string(stencil)}.object().bytes == expected;
    });
  threads.clear();
  EXPECT_EQ(equal, 12);
}

std::string error_of(codegen::Target target, const std::string& what = "asm") {
  const Program program = parse_program(stencil);
  try {
    emit(program, target, what);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Compiler, RefusesWhatItCannotGenerate) {
  EXPECT_THAT(error_of({"spirv", "", "", 64, 1024}), HasSubstr("'spirv' cannot be generated by this build"));
  EXPECT_THAT(error_of({"elf-x86_64", "z80", "", 1, 1}), HasSubstr("'z80' is not an x86-64 processor"));
  EXPECT_THAT(error_of({"elf-x86_64", "znver9", "", 1, 1}), HasSubstr("did you mean znver"));
  EXPECT_THAT(error_of({"elf-x86_64", "x86-64-v33", "", 1, 1}), HasSubstr("did you mean x86-64-v3"));
  EXPECT_THAT(error_of({"elf-x86_64", "x86-64", "", 1, 1}), HasSubstr("lacks avx2"));
  EXPECT_THAT(error_of(host_target(), "wasm"), HasSubstr("expected llvm, llvm-opt, asm or times"));
}

TEST(Compiler, GeneratesForAnotherProcessor) {
  const std::string text = emit(parse_program(stencil), {"elf-x86_64", "x86-64-v3", "", 1, 1}, "asm");
  EXPECT_THAT(text, HasSubstr("ymm"));
  EXPECT_EQ(occurrences(text, "zmm"), 0u);
}

TEST(Compiler, MathWithoutAvx512HasTheSameSourceAndNoCalls) {
  const std::string text =
      emit(parse_program(map("exp", "f32")), {"elf-x86_64", "x86-64-v3", "", 1, 1}, "asm");
  EXPECT_EQ(occurrences(text, "call"), 0u);
}

TEST(Compiler, AnswersOnlyToItsOwnInterface) {
  EXPECT_EQ(weir_codegen(weir_codegen_abi + 1), nullptr);
}

}  // namespace
}  // namespace weir::test
