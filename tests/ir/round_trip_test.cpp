// SPDX-License-Identifier: Apache-2.0
// The text form: printed text parses and prints to the same bytes.
#include "ir/round_trip.hpp"

#include <gtest/gtest.h>

#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "kernels.hpp"
#include "random_kernel.hpp"

namespace weir::test {
namespace {

constexpr std::uint64_t seeds = 2000;

void expect_round_trip(const ir::Kernel& kernel) {
  EXPECT_NO_THROW(ir::check_round_trip(kernel));
}

TEST(RoundTrip, TheFirstLineThatDiffersIsNamed) {
  EXPECT_EQ(ir::first_difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(ir::first_difference("a\nbc\nd\n", "a\nbx\nd\n"), "line 2 is 'bc' and reads back as 'bx'");
  EXPECT_EQ(ir::first_difference("a\nb\n", "a\n"), "line 2 is 'b' and reads back as ''");
  EXPECT_EQ(ir::first_difference("a\n", "a\nb\n"), "line 2 is '' and reads back as 'b'");
  EXPECT_EQ(ir::first_difference("ab", "a"), "line 1 is 'ab' and reads back as 'a'");
}

// An operand without a value prints as "%?", which the parser refuses.
TEST(RoundTrip, AKernelThatDoesNotReadBackIsRefused) {
  ir::Statement statement{};
  statement.op = ir::Op::neg;
  statement.type = ScalarType::f32;
  statement.operands = {ir::no_value};
  statement.result = 0;
  ir::Kernel kernel;
  kernel.name = "broken";
  kernel.value_count = 1;
  kernel.body.statements.push_back(statement);
  try {
    ir::check_round_trip(kernel);
    FAIL() << "the kernel was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kernel 'broken' does not read back"), std::string::npos)
        << error.what();
  }
}

TEST(RoundTrip, RandomKernelsAreSound) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    const auto diagnostics = ir::verify(kernel);
    ASSERT_TRUE(diagnostics.empty()) << "seed " << seed << ": " << diagnostics.front().message << "\n"
                                     << ir::print(kernel);
  }
}

TEST(RoundTrip, RandomKernelsReadBackToTheSameBytes) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Choices choices(seed);
    expect_round_trip(random_kernel(choices));
    if (HasFailure()) return;
  }
}

TEST(RoundTrip, KernelsThatAreReadBackAreSound) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Choices choices(seed);
    const ir::Kernel kernel = ir::parse(ir::print(random_kernel(choices)));
    ASSERT_TRUE(ir::verify(kernel).empty()) << "seed " << seed;
  }
}

TEST(RoundTrip, KernelsOfTheCorpusReadBackToTheSameBytes) {
  auto paths = files_of("tests/ir/kernels");
  for (const auto& path : files_of("tests/ir/kernels_with_algorithms")) paths.push_back(path);
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    const ir::Kernel kernel = ir::parse(read_file(path), path.string());
    ir::verify_or_throw(kernel);
    expect_round_trip(kernel);
  }
}

TEST(RoundTrip, EveryScalarTypeKeepsTheBitsOfItsConstants) {
  const std::vector<std::pair<ScalarType, std::vector<std::uint64_t>>> cases = {
      {ScalarType::boolean, {0, 1}},
      {ScalarType::i8, {0, 1, 0x7f, 0x80, 0xff}},
      {ScalarType::i16, {0, 0x7fff, 0x8000, 0xffff}},
      {ScalarType::i32, {0, 0x7fffffff, 0x80000000, 0xffffffff}},
      {ScalarType::i64, {0, 0x7fffffffffffffff, 0x8000000000000000, ~std::uint64_t{0}}},
      {ScalarType::u8, {0, 0xff}},
      {ScalarType::u16, {0, 0xffff}},
      {ScalarType::u32, {0, 0xffffffff}},
      {ScalarType::u64, {0, ~std::uint64_t{0}}},
      {ScalarType::f16, {0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe01}},
      {ScalarType::f32,
       {0, 0x80000000, 1, 0x7fffff, 0x800000, 0x3f800000, 0x3dcccccd, 0x7f7fffff, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7f800001, 0xffc00000, 0xffffffff}},
      {ScalarType::f64,
       {0, 0x8000000000000000, 1, 0xfffffffffffff, 0x10000000000000, 0x3fb999999999999a, 0x7fefffffffffffff,
        0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001, ~std::uint64_t{0}}}};
  ir::Kernel kernel;
  kernel.name = "constants";
  for (const auto& [type, values] : cases) {
    for (const std::uint64_t bits : values) {
      ir::Statement s{};
      s.op = ir::Op::constant;
      s.type = type;
      s.immediate = bits;
      s.result = kernel.value_count++;
      kernel.body.statements.push_back(s);
    }
  }
  ir::verify_or_throw(kernel);
  const ir::Kernel back = ir::parse(ir::print(kernel));
  ASSERT_EQ(back.body.statements.size(), kernel.body.statements.size());
  for (std::size_t i = 0; i < kernel.body.statements.size(); ++i) {
    EXPECT_EQ(back.body.statements[i].immediate, kernel.body.statements[i].immediate) << "constant " << i;
  }
}

TEST(RoundTrip, EveryHalfKeepsItsBits) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const std::string text =
        "weir-ir 1 kernel \"k\" { %0 = const " + ir::print_constant(ScalarType::f16, bits) + " : f16 }";
    ASSERT_EQ(ir::parse(text).body.statements.front().immediate, bits) << text;
  }
}

TEST(Numbering, OtherIdsPrintTheSameText) {
  for (std::uint64_t seed = 0; seed < seeds / 4; ++seed) {
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    ASSERT_EQ(ir::print(renumbered(kernel, choices), true), ir::print(kernel, true)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::test
