// SPDX-License-Identifier: Apache-2.0
// Loops that call functions of the math library: their vector code, and bit-identical results of vector and
// scalar calls.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// r[i] = f(f(... x[i])), or f(x[i], 1.5) for pow.
std::string chain(const std::string& function, const std::string& type, unsigned calls = 1) {
  std::string text =
      "weir-ir 1\nkernel \"chain\"\nparam @r: array<" + type + ", 1>\nparam @x: array<" + type +
      ", 1>\n{\n  %zero = const 0 : i64\n  %n = extent @r, 0 : i64\n  %y = const 1.5 : " + type +
      "\n  parallel (%i) in (%zero to %n) {\n    %v0 = load @x[%i] : " + type + "\n";
  for (unsigned k = 0; k < calls; ++k)
    text += "    %v" + std::to_string(k + 1) + " = math." + function + " %v" + std::to_string(k) +
            (function == "pow" ? ", %y : " : " : ") + type + "\n";
  return text + "    store @r[%i], %v" + std::to_string(calls) + "\n  }\n}\n";
}

std::string emit_for(const std::string& text, const std::string& features, std::string_view what) {
  codegen::Target target{"elf-x86_64", "x86-64-v4", features, 1, 1};
  target.assumptions.no_alias = true;
  return emit(parse_program(text), target, what);
}

TEST(MathLoop, Avx512ScalesVectorsWithoutConvertingTheirExponents) {
  for (const char* function : {"exp", "pow"})
    for (const char* type : {"f32", "f64"}) {
      const std::string code = emit_for(chain(function, type), "-prefer-256-bit", "llvm-opt");
      EXPECT_THAT(code, HasSubstr("@llvm.x86.avx512.mask.scalef.p")) << function << ' ' << type;
      EXPECT_THAT(code, Not(HasSubstr("@llvm.ldexp.v"))) << function << ' ' << type;
    }
  const std::string code = emit_for(chain("exp", "f64"), "-prefer-256-bit", "asm");
  EXPECT_THAT(code, HasSubstr("vscalefpd"));
  EXPECT_THAT(code, Not(HasSubstr("vcvtdq2pd")));
}

/// The number of vectors per pass of the main loop: its stores, besides those of the remainder loop.
std::size_t vectors_in_loop(const std::string& text) {
  return occurrences(emit_for(text, "+prefer-256-bit", "llvm-opt"), "store <4 x double>");
}

TEST(MathLoop, ComputesSeveralVectorsSideBySide) {
  EXPECT_GE(vectors_in_loop(chain("pow", "f64")), 4u);
  EXPECT_GE(vectors_in_loop(chain("exp", "f64")), 4u);
  EXPECT_GE(vectors_in_loop(chain("exp", "f64", 2)), 2u);
  EXPECT_LE(vectors_in_loop(chain("exp", "f64", 2)), 3u);
  EXPECT_LE(vectors_in_loop(chain("exp", "f64", 5)), 2u);
  EXPECT_LE(vectors_in_loop(chain("log", "f64")), 2u);  // log divides
}

template <class T>
void expect_bits_of_elements_alone(const std::string& function) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{
      T(0),          T(-0.0),        Limits::infinity(),   -Limits::infinity(), Limits::quiet_NaN(),
      Limits::max(), -Limits::max(), Limits::denorm_min(), Limits::min(),       T(1)};
  const T far = sizeof(T) == 4 ? 160 : 1100;  // beyond the overflow and underflow limits of all functions
  for (int i = 0; i < 600; ++i) x.push_back(far * T(i - 300) / 299);
  std::vector<T> together(x.size()), alone(x.size());
  Code code(chain(function, sizeof(T) == 4 ? "f32" : "f64"));
  code.array("x", x).array("r", together).run();
  for (std::size_t i = 0; i < x.size(); ++i) {
    code.array("x", &x[i], {1}).array("r", &alone[i], {1}).run();
    if (std::isnan(together[i]) && std::isnan(alone[i])) continue;
    ASSERT_EQ(std::memcmp(&together[i], &alone[i], sizeof(T)), 0)
        << function << " of " << x[i] << " is " << together[i] << " in a vector and " << alone[i] << " alone";
  }
}

TEST(MathLoop, VectorsHaveTheBitsOfElementsAlone) {
  for (const char* function : {"exp", "pow"}) {
    expect_bits_of_elements_alone<float>(function);
    expect_bits_of_elements_alone<double>(function);
  }
}

}  // namespace
}  // namespace weir::test
