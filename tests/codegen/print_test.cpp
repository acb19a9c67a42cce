// SPDX-License-Identifier: Apache-2.0
// Loops that rarely print: vector code that notes whether an iteration prints.
#include <gmock/gmock.h>

#include "harness.hpp"

namespace weir::test {
namespace {

constexpr const char* loop = R"(weir-ir 1
kernel "half"
param @x: array<f32, 1>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %none = const 0 : f32
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    store @y[%i], %x
    %negative = lt %x, %none : bool
    if %negative {
      print "{}", %x
    }
  }
}
)";

std::string code(const char* processor) {
  codegen::Target target{"elf-x86_64", processor, "", 1, 1};
  target.assumptions.no_alias = true;
  return emit(parse_program(loop), target, "asm");
}

// A comparison under a mask keeps the bits of a mask register that are set in both.
TEST(RarePrints, AreNotedByTheComparisonOfMaskRegisters) {
  EXPECT_THAT(code("x86-64-v4"),
              testing::ContainsRegex("vcmp[a-z]*ps\t%[yz]mm[0-9]+, %[yz]mm[0-9]+, %k[0-7] \\{%k"));
}

TEST(RarePrints, AreNotedInVectorsOfOtherProcessors) {
  EXPECT_THAT(code("x86-64-v3"), testing::ContainsRegex("vcmp[a-z]*ps\t%ymm"));
}

}  // namespace
}  // namespace weir::test
