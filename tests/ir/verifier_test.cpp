// SPDX-License-Identifier: Apache-2.0
// Faults that only kernels built in memory can have; the text form cannot express them.
#include "ir/verifier.hpp"

#include <gmock/gmock.h>

#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/printer.hpp"

namespace weir::test {
namespace {

using ir::Op;
using ir::Statement;
using testing::HasSubstr;

// A kernel with %0 = const 1 : f32, %1 = const 0 : i64, one array @x and one message.
ir::Kernel sound() {
  ir::Kernel k = ir::parse(
      "weir-ir 1 kernel \"k\" param @x : array<f32, 1> { %0 = const 1 : f32 %1 = const 0 : i64 local $0 : "
      "f32 }",
      "k.weir");
  k.strings.push_back("message");
  return k;
}

std::string first_of(const ir::Kernel& kernel) {
  ir::print(kernel, true);  // printing malformed kernels must be safe
  const auto diagnostics = ir::verify(kernel);
  return diagnostics.empty() ? "" : diagnostics.front().message;
}

std::string with(const Statement& s) {
  ir::Kernel k = sound();
  k.value_count = 4;
  k.body.statements.push_back(s);
  return first_of(k);
}

Statement make(Op op, ScalarType type, std::vector<ir::ValueId> operands, ir::ValueId result = ir::no_value) {
  Statement s{};
  s.op = op;
  s.type = type;
  s.operands = std::move(operands);
  s.result = result;
  return s;
}

TEST(Verifier, ASoundKernelHasNoDiagnostics) {
  EXPECT_EQ(first_of(sound()), "");
}

TEST(Verifier, RefusesUnknownOperations) {
  EXPECT_EQ(with(make(static_cast<Op>(250), ScalarType::f32, {})), "there is no operation number 250");
}

TEST(Verifier, RefusesUnknownTypes) {
  EXPECT_EQ(with(make(Op::neg, static_cast<ScalarType>(99), {0}, 2)), "there is no scalar type number 99");
}

TEST(Verifier, RefusesResultsOutOfRange) {
  EXPECT_EQ(with(make(Op::neg, ScalarType::f32, {0}, 4)),
            "a result is one of the kernel's 4 values, found number 4");
}

TEST(Verifier, RefusesResultsDefinedTwice) {
  EXPECT_EQ(with(make(Op::neg, ScalarType::f32, {0}, 0)), "%0 is defined twice, before at k.weir:1:49");
}

TEST(Verifier, RefusesMissingResults) {
  EXPECT_EQ(with(make(Op::neg, ScalarType::f32, {0})), "'neg' gives a result, found no value for it");
}

TEST(Verifier, RefusesResultsOfWhatGivesNone) {
  Statement s = make(Op::store, ScalarType::f32, {1, 0}, 2);
  EXPECT_EQ(with(s), "'store' gives no result, found %2");
}

TEST(Verifier, RefusesOperandsOutOfRange) {
  EXPECT_EQ(with(make(Op::neg, ScalarType::f32, {77}, 2)),
            "an operand is one of the kernel's 4 values, found number 77");
}

TEST(Verifier, RefusesOperandsUsedBeforeTheirDefinition) {
  EXPECT_EQ(with(make(Op::neg, ScalarType::f32, {3}, 2)), "%3 is used before it is defined");
}

TEST(Verifier, RefusesWrongOperandCounts) {
  EXPECT_EQ(with(make(Op::add, ScalarType::f32, {0}, 2)), "'add' takes 2 values, found 1");
}

TEST(Verifier, RefusesWrongBlockCounts) {
  Statement s = make(Op::if_, ScalarType::boolean, {0});
  s.bodies.resize(1);
  EXPECT_EQ(with(s), "'if' has 2 blocks, found 1");
}

TEST(Verifier, RefusesRegionsWithoutBlocks) {
  EXPECT_EQ(with(make(Op::region, ScalarType::boolean, {})), "'region' has at least 1 block, found 0");
}

TEST(Verifier, RefusesArgumentsOfBlocksThatTakeNone) {
  Statement s = make(Op::region, ScalarType::boolean, {});
  s.bodies.resize(1);
  s.bodies[0].arguments = {2};
  EXPECT_EQ(with(s), "the blocks of 'region' take no arguments");
}

TEST(Verifier, RefusesForLoopsWithoutIndex) {
  Statement s = make(Op::for_, ScalarType::boolean, {1, 1, 1});
  s.bodies.resize(1);
  EXPECT_EQ(with(s), "the blocks of 'for' take the index, found 0 arguments");
}

TEST(Verifier, RefusesConstantsWithBitsBeyondTheirType) {
  Statement s = make(Op::constant, ScalarType::i8, {}, 2);
  s.immediate = 0x100;
  EXPECT_EQ(with(s), "a constant of type i8 has bits set beyond its 8, found 256");
}

TEST(Verifier, RefusesBooleansOtherThanZeroAndOne) {
  Statement s = make(Op::constant, ScalarType::boolean, {}, 2);
  s.immediate = 2;
  EXPECT_EQ(with(s), "a constant of type bool has bits set beyond its 1, found 2");
}

TEST(Verifier, RefusesParametersOutOfRange) {
  Statement s = make(Op::extent, ScalarType::i64, {}, 2);
  s.index = 9;
  EXPECT_EQ(with(s), "'extent' names an array parameter, found parameter number 9 of 1");
}

TEST(Verifier, RefusesUnknownMathFunctions) {
  Statement s = make(Op::math, ScalarType::f32, {0}, 2);
  s.index = 1000;
  EXPECT_EQ(with(s), "there is no math function number 1000");
}

TEST(Verifier, RefusesUnknownAtomics) {
  Statement s = make(Op::atomic, ScalarType::f32, {1, 0}, 2);
  s.immediate = 1000;
  EXPECT_EQ(with(s), "there is no atomic number 1000");
}

TEST(Verifier, RefusesUnknownReductions) {
  Statement s = make(Op::reduce, ScalarType::f32, {1, 1}, 2);
  s.index = 1000;
  s.bodies.resize(1);
  s.bodies[0].arguments = {3};
  EXPECT_EQ(with(s), "there is no reduction number 1000");
}

TEST(Verifier, RefusesUnknownMarksOnRegions) {
  Statement s = make(Op::region, ScalarType::boolean, {});
  s.bodies.resize(1);
  s.immediate = 2;
  EXPECT_EQ(with(s), "the mark of 'region' is 0 or 1, found 2");
}

TEST(Verifier, RefusesMessagesOutOfRange) {
  ir::Kernel k = ir::parse("weir-ir 1 kernel \"k\" { %0 = const true : bool }");
  Statement s = make(Op::assert_, ScalarType::boolean, {0});
  s.index = 3;
  k.body.statements.push_back(s);
  EXPECT_EQ(first_of(k), "'assert' names a message of the kernel's 0, found number 3");
}

TEST(Verifier, RefusesFormatsOutOfRange) {
  Statement s = make(Op::print, ScalarType::boolean, {});
  s.index = 3;
  EXPECT_EQ(with(s), "'print' names a format of the kernel's 1 strings, found number 3");
}

// What the verifier says of a print of an f32, an i32 and a bool with that format.
std::string printed_with(const std::string& format) {
  return first_of(ir::parse(
      "weir-ir 1 kernel \"k\" { %0 = const 1 : f32 %1 = const 1 : i32 %2 = const true : bool print \"" +
      format + "\", %0, %1, %2 }"));
}

TEST(Verifier, TakesTheFormatsThatTheTypesHave) {
  for (const char* format : {"{}{}{}", "{:8.3f}{:x}{:>6}", "{:+e}{:+}{:^9}", "{:*<12g}{:#b}{:_<8}",
                             "{:08}{:08X}{}", "{{}}{}{}{}{{", "{:.999G}{:999}{:1}"})
    EXPECT_EQ(printed_with(format), "") << format;
}

TEST(Verifier, RefusesOtherFormats) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{}{}", "takes 2 values, found 3; write one {} for each value"},
      {"{}{}{}{}", "takes 4 values, found 3"},
      {"{}{}{", "has a single '{'; write it twice for a brace"},
      {"{}}{}{}", "has a single '}'"},
      {"{{}{}{}", "has a single '}'"},
      {"{0}{1}{2}", "has '{0}', expected {} or {:...}"},
      {"{:x}{}{}", "has {:x} for value 1 of type f32, which does not take 'x'"},
      {"{}{:f}{}", "for value 2 of type i32, which does not take 'f'"},
      {"{}{:.2}{}", "which does not take a precision"},
      {"{:.}{}{}", "a precision that is not a number up to 999"},
      {"{}{:1000}{}", "a width of more than 999"},
      {"{}{}{:d}", "for value 3 of type bool, which does not take 'd'"},
      {"{}{}{:+}", "the sign '+'"},
      {"{}{}{:08}", "the padding '0'"},
      {"{:{}}{}{}", "has '{:{', expected numbers as widths and precisions: they cannot be values"},
      {"{:.{}f}{}{}", "has '{:.{', expected numbers"}};
  for (const auto& [format, words] : wrong)
    EXPECT_NE(printed_with(format).find(words), std::string::npos) << format << ": " << printed_with(format);
}

TEST(Verifier, RefusesLocalsOutOfRange) {
  Statement s = make(Op::local, ScalarType::f32, {});
  s.index = 5;
  s.immediate = 1;
  EXPECT_EQ(with(s), "a local variable is one of the kernel's 1, found number 5");
}

TEST(Verifier, RefusesLocalsDeclaredTwice) {
  Statement s = make(Op::local, ScalarType::f32, {});
  s.immediate = 1;
  EXPECT_EQ(with(s), "a local variable is declared twice, before at k.weir:1:87");
}

TEST(Verifier, RefusesLocalsUsedBeforeTheirDeclaration) {
  ir::Kernel k = sound();
  k.local_count = 2;
  k.value_count = 4;
  Statement s = make(Op::get, ScalarType::f32, {}, 2);
  s.index = 1;
  k.body.statements.push_back(s);
  EXPECT_EQ(first_of(k), "a local variable is read before it is declared");
}

TEST(Verifier, RefusesArgumentsOfTheBody) {
  ir::Kernel k = sound();
  k.value_count = 3;
  k.body.arguments = {2};
  EXPECT_EQ(first_of(k), "the body of a kernel takes no arguments");
}

TEST(Verifier, RefusesTwoParametersOfOneName) {
  ir::Kernel k = sound();
  k.parameters.push_back(k.parameters[0]);
  EXPECT_EQ(first_of(k), "two parameters are named @x; names are unique");
}

TEST(Verifier, RefusesScalarsWithARank) {
  ir::Kernel k = sound();
  k.parameters.push_back({"s", ir::Parameter::Kind::scalar, {}, 1, {}});
  EXPECT_EQ(first_of(k), "@s is a scalar, of rank 0, found rank 1");
}

TEST(Verifier, RefusesTooManyParameters) {
  ir::Kernel k = sound();
  for (int i = 0; i < 300; ++i)
    k.parameters.push_back({"p" + std::to_string(i), ir::Parameter::Kind::scalar, {}, 0, {}});
  EXPECT_EQ(first_of(k), "a kernel has at most 256 parameters, found 301");
}

TEST(Verifier, RefusesAbsurdNumbersOfValuesBeforeMakingRoomForThem) {
  ir::Kernel k = sound();
  k.value_count = 0xffffffff;
  const auto diagnostics = ir::verify(k);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("at most 16777216 values"));
}

TEST(Verifier, RefusesLocationsOfUnknownFiles) {
  Statement s = make(Op::neg, ScalarType::f32, {0}, 2);
  s.location = {7, 1, 1};
  EXPECT_EQ(with(s), "a location names one of the kernel's 1 files, found number 7");
}

TEST(Verifier, RefusesKernelsNestedTooDeeplyWithoutEndingItself) {
  Statement inner{};
  for (int i = 0; i < 300; ++i) {
    Statement outer = make(Op::while_, ScalarType::boolean, {});
    outer.bodies.resize(2);
    if (i > 0) outer.bodies[1].statements.push_back(std::move(inner));
    inner = std::move(outer);
  }
  ir::Kernel k = sound();
  k.body.statements.push_back(std::move(inner));
  bool found = false;
  for (const auto& d : ir::verify(k)) found = found || d.message == "blocks are nested more than 128 deep";
  EXPECT_TRUE(found || ir::verify(k).size() == ir::max_diagnostics);
}

TEST(Verifier, OneExceptionCarriesAllDiagnosticsWithTheirPlaces) {
  const ir::Kernel k = ir::parse(
      "weir-ir 1\nkernel \"two\"\n{\n  %0 = const 1 : f32\n  %1 = neg %0 : i32\n  break\n}\n", "two.weir");
  try {
    ir::verify_or_throw(k);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_EQ(error.kernel(), "two");
    EXPECT_STREQ(error.what(),
                 "two.weir:5:3: the result of 'neg' is f32 here, found i32\n"
                 "two.weir:6:3: 'break' leaves a 'while' or 'for', found none around it");
  }
}

TEST(Verifier, StopsAfterEnoughDiagnostics) {
  std::string text = "weir-ir 1 kernel \"k\" {\n";
  for (int i = 0; i < 1000; ++i) text += "break\n";
  const auto diagnostics = ir::verify(ir::parse(text + "}"));
  EXPECT_LE(diagnostics.size(), ir::max_diagnostics);
}

// ---- tasks

ir::Task task(const ir::Kernel& k) {
  ir::Task t;
  t.name = "t";
  t.body = k.body;
  t.value_count = k.value_count;
  t.local_count = k.local_count;
  t.argument_bytes = 16;
  return t;
}

std::string first_of(const ir::Kernel& kernel, const ir::Task& task) {
  const auto diagnostics = ir::verify_task(kernel, task);
  return diagnostics.empty() ? "" : diagnostics.front().message;
}

TEST(TaskVerifier, AcceptsASerialTask) {
  EXPECT_EQ(first_of(sound(), task(sound())), "");
}

TEST(TaskVerifier, RefusesAParallelTaskWithoutItsLoop) {
  ir::Task t = task(sound());
  t.kind = ir::TaskKind::parallel;
  EXPECT_EQ(first_of(sound(), t), "task t: the body ends in its only loop, a 'parallel', found 0 loops");
}

TEST(TaskVerifier, RefusesArgumentsThatAreNotThere) {
  const ir::Kernel k =
      ir::parse("weir-ir 1 kernel \"k\" param @x : array<f32, 1> { %0 = extent @x, 0 : i64 }");
  EXPECT_EQ(first_of(k, task(k)), "task t: uses an extent of @x that its argument block does not hold");
}

TEST(TaskVerifier, RefusesArgumentsThatOverlap) {
  const ir::Kernel k = sound();
  ir::Task t = task(k);
  t.arguments = {{ir::TaskArgument::Kind::array, 0, 0, ScalarType::u64, 0, 8},
                 {ir::TaskArgument::Kind::extent, 0, 0, ScalarType::i64, 0, 8}};
  EXPECT_EQ(first_of(k, t), "task t: argument fields overlap or are not in order of offset");
}

TEST(TaskVerifier, RefusesRegionsInOtherStatements) {
  const ir::Kernel k =
      ir::parse("weir-ir 1 kernel \"k\" { %n = const 1 : i64 repeat (%k) to %n { } region { } }");
  ir::Task t = task(k);
  Statement region = t.body.statements.back();
  t.body.statements.pop_back();
  t.body.statements.back().bodies[0].statements.push_back(region);
  EXPECT_EQ(first_of(k, t), "the 'region' of a task is directly in its body, found one in 'repeat'");
}

}  // namespace
}  // namespace weir::test
