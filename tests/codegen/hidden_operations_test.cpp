// SPDX-License-Identifier: Apache-2.0
// LLVM's passes that hide operations from compilers of vendors change just the forms that those compile
// wrongly. What they make is code for GPUs, so it does not run here.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::test {
namespace {

constexpr const char* operands =
    "i32 %a, i32 %b, i64 %l, float %x, float %y, float %z, double %d, double %e, <2 x float> %v, <2 x i32> "
    "%w, ptr %p";

std::string text_of(const llvm::Function& f) {
  std::string words;
  llvm::raw_string_ostream(words) << f;
  return words;
}

/// Whether the pass changes the statements, which compute %r.
template <class Pass>
bool changes(Pass pass, const std::string& type, const std::string& statements) {
  const std::string text =
      "define " + type + " @f(" + operands + ") {\nentry:\n" + statements + "  ret " + type + " %r\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, wrong, context);
  if (!module) throw std::runtime_error(wrong.getMessage().str() + ": " + wrong.getLineContents().str());
  llvm::Function& f = *module->getFunction("f");
  const std::string before = text_of(f);
  llvm::FunctionAnalysisManager analyses;
  const bool changed = !pass.run(f, analyses).areAllPreserved();
  EXPECT_EQ(changed, before != text_of(f)) << text_of(f);
  EXPECT_FALSE(llvm::verifyModule(*module)) << text_of(f);
  return changed;
}

std::string bound(const std::string& name, const std::string& function, const std::string& a,
                  const std::string& b, const std::string& flags = "", const std::string& type = "float") {
  return "  %" + name + " = call " + flags + type + " @llvm." + function +
         (type == "float" ? ".f32" : ".f64") + "(" + type + " " + a + ", " + type + " " + b + ")\n";
}

// proves R36
TEST(HiddenOperations, OfAnotherMinimumOrMaximumAreThoseThatOneInstructionGetsWrong) {
  const auto separates = [](const std::string& statements, const std::string& type = "float") {
    return changes(codegen::SeparateMinMax(), type, statements);
  };
  for (const std::string inner : {"minimumnum", "minnum", "maximumnum", "maxnum"})
    for (const std::string outer : {"minimumnum", "minnum", "maximumnum", "maxnum"}) {
      const bool is_median = (inner.substr(0, 3) == "min") != (outer.substr(0, 3) == "min");
      const std::string named = inner + " in " + outer;
      EXPECT_TRUE(separates(bound("m", inner, "%x", "%y") + bound("r", outer, "%m", "%z"))) << named;
      EXPECT_TRUE(separates(bound("m", inner, "%x", "%y") + bound("r", outer, "%z", "%m"))) << named;
      EXPECT_TRUE(
          separates(bound("m", inner, "%d", "%e", "", "double") + bound("r", outer, "%e", "%m", "", "double"),
                    "double"))
          << named;
      EXPECT_EQ(separates(bound("m", inner, "%x", "%y", "nsz ") + bound("r", outer, "%m", "%z", "nsz ")),
                is_median)
          << named;
      EXPECT_EQ(separates(bound("m", inner, "%x", "1.0") + bound("r", outer, "%m", "2.0")), !is_median)
          << named;
      EXPECT_TRUE(separates(bound("m", inner, "%x", "0.0") + bound("r", outer, "%m", "2.0"))) << named;
      EXPECT_TRUE(separates(bound("m", inner, "%x", "1.0") + bound("r", outer, "%m", "-0.0"))) << named;
      EXPECT_TRUE(separates(bound("m", inner, "%x", "1.0") + bound("r", outer, "%m", "0x7FF8000000000000")))
          << named;
      EXPECT_EQ(separates(bound("m", inner, "%x", "0.0", "nsz ") + bound("r", outer, "%m", "2.0", "nsz ")),
                false)
          << named;
      // Operations on floats return quiet NaNs.
      for (const std::string quiet : {"fadd float %x, %y", "sitofp i32 %a to float", "uitofp i32 %a to float",
                                      "fptrunc double %d to float", "call float @llvm.sqrt.f32(float %x)",
                                      "call float @llvm.fma.f32(float %x, float %y, float %z)"})
        EXPECT_EQ(separates("  %q = " + quiet + "\n" + bound("m", inner, "%q", "1.0") +
                            bound("r", outer, "%m", "%q")),
                  is_median)
            << named << " of " << quiet;
      EXPECT_TRUE(separates("  %q = load float, ptr %p\n  %s = fadd float %x, %y\n" +
                            bound("m", inner, "%q", "%s") + bound("r", outer, "%m", "%s")))
          << named;
      EXPECT_TRUE(separates("  %q = call float @llvm.fabs.f32(float %x)\n  %s = fadd float %x, %y\n" +
                            bound("m", inner, "%s", "%s") + bound("r", outer, "%m", "%q")))
          << named;
    }
  EXPECT_FALSE(separates(bound("r", "minimumnum", "%x", "%y")));
  EXPECT_FALSE(separates(bound("m", "minimum", "%x", "%y") + bound("r", "maximumnum", "%m", "%z")));
  EXPECT_FALSE(separates(bound("m", "maximumnum", "%x", "%y") + bound("r", "maximum", "%m", "%z")));
  EXPECT_FALSE(separates(
      "  %m = call <2 x float> @llvm.minimumnum.v2f32(<2 x float> %v, <2 x float> splat (float 1.0))\n"
      "  %r = call <2 x float> @llvm.maximumnum.v2f32(<2 x float> %m, <2 x float> splat (float 2.0))\n",
      "<2 x float>"));
  EXPECT_TRUE(separates(
      "  %m = call <2 x float> @llvm.minimumnum.v2f32(<2 x float> %v, <2 x float> splat (float 0.0))\n"
      "  %r = call <2 x float> @llvm.maximumnum.v2f32(<2 x float> %m, <2 x float> splat (float 2.0))\n",
      "<2 x float>"));
}

// proves R36
TEST(HiddenOperations, OnZerosAreThoseWhoseSignCounts) {
  using Zeros = codegen::OpaqueZeros::Zeros;
  const auto hides = [](Zeros scope, const std::string& statements, const std::string& type = "float") {
    return changes(codegen::OpaqueZeros(scope), type, statements);
  };
  /// Statements, and whether zeros in sums and all zeros are hidden.
  struct Form {
    const char* statements;
    bool of_sums, all;
    const char* type = "float";
  };
  const std::vector<Form> forms{
      {"  %r = fadd float %x, 0.0\n", true, true},
      {"  %r = fadd float 0.0, %x\n", true, true},
      {"  %r = fadd float %x, -0.0\n", false, true},
      {"  %r = fadd float %x, 1.0\n", false, false},
      {"  %r = fadd nsz float %x, 0.0\n", false, false},
      {"  %r = fsub float 0.0, %x\n", true, true},
      {"  %r = fsub float %x, 0.0\n", false, true},
      {"  %r = fsub nsz float 0.0, %x\n", false, false},
      {"  %r = fmul float %x, 0.0\n", false, true},
      {"  %r = fmul nsz float %x, 0.0\n", false, false},
      {"  %r = fdiv float 0.0, %x\n", false, true},
      {"  %r = frem float 0.0, %x\n", false, false},
      {"  %c = icmp eq i32 %a, 0\n  %r = select i1 %c, float 0.0, float %x\n", false, true},
      {"  %c = icmp eq i32 %a, 0\n  %r = select i1 %c, float %x, float 2.0\n", false, false},
      {"  %r = call float @llvm.fma.f32(float %x, float %y, float 0.0)\n", false, true},
      {"  %r = call float @llvm.fmuladd.f32(float %x, float 0.0, float %y)\n", false, true},
      {"  %r = call float @llvm.maximumnum.f32(float %x, float 0.0)\n", false, false},
      {"  store float 0.0, ptr %p\n  %r = fneg float %x\n", false, false},
      {"  %s = alloca float\n  store float 0.0, ptr %s\n  %r = load float, ptr %s\n", false, true},
      {"  %s = alloca float\n  store float %x, ptr %s\n  %r = load float, ptr %s\n", false, false},
      {"  br label %loop\nloop:\n  %k = phi i32 [0, %entry], [%n, %loop]\n  %r = phi float [-0.0, %entry], "
       "[%x, %loop]\n"
       "  %n = add i32 %k, 1\n  %c = icmp ult i32 %n, %a\n  br i1 %c, label %loop, label %end\nend:\n",
       false, true},
      {"  %r = fadd <2 x float> %v, <float 1.0, float 0.0>\n", true, true, "<2 x float>"},
      {"  %r = fadd <2 x float> %v, <float -0.0, float 1.0>\n", false, true, "<2 x float>"},
      {"  %r = fadd <2 x float> %v, <float 2.0, float 1.0>\n", false, false, "<2 x float>"},
  };
  for (const Form& form : forms) {
    EXPECT_EQ(hides(Zeros::of_sums, form.statements, form.type), form.of_sums) << form.statements;
    EXPECT_EQ(hides(Zeros::all, form.statements, form.type), form.all) << form.statements;
  }
}

// proves R36
TEST(HiddenOperations, BehindANegationAreBoundsOfSignedWords) {
  const auto moves = [](const std::string& function, const std::string& a, const std::string& b,
                        const std::string& type = "i32") {
    const std::string zero = type[0] == '<' ? "zeroinitializer" : "0", v = type == "i64"    ? "%l"
                                                                           : type[0] == '<' ? "%w"
                                                                                            : "%b";
    return changes(codegen::NegationsFirst(), type,
                   "  %n = sub " + type + " " + zero + ", " + v + "\n  %m = sub " + type + " " + v + ", " +
                       v + "\n  %k = sub " + type + " " + zero + ", %m\n  %r = call " + type + " @llvm." +
                       function + "." + (type[0] == '<' ? "v2i32" : type) + "(" + type + " " + a + ", " +
                       type + " " + b + ")\n");
  };
  for (const std::string function : {"smax", "smin"}) {
    EXPECT_TRUE(moves(function, "%a", "%n"));
    EXPECT_TRUE(moves(function, "%k", "%n"));
    EXPECT_FALSE(moves(function, "%n", "%a"));
    EXPECT_FALSE(moves(function, "%a", "%m"));
    EXPECT_FALSE(moves(function, "%l", "%n", "i64"));
    EXPECT_TRUE(moves(function, "%w", "%n", "<2 x i32>"));
    EXPECT_TRUE(moves(function, "%k", "%n", "<2 x i32>"));
  }
  EXPECT_FALSE(moves("umax", "%a", "%n"));
  EXPECT_FALSE(moves("umin", "%a", "%n"));
}

// proves R36
TEST(HiddenOperations, OfAbsoluteValuesAreThoseThatAssumptionsBreak) {
  const std::string absolute = "  %m = call float @llvm.fabs.f32(float %x)\n";
  const auto hides = [&](const std::string& statements) {
    return changes(codegen::ComparedAbs(), "i1", absolute + statements);
  };
  EXPECT_TRUE(hides("  %r = fcmp ogt float %m, -1.0\n"));
  EXPECT_TRUE(hides("  %r = fcmp olt float -1.0, %m\n"));
  EXPECT_TRUE(hides("  %r = fcmp oge float %m, 0.0\n"));
  EXPECT_FALSE(hides("  %r = fcmp ogt float %m, 1.0\n"));
  EXPECT_FALSE(hides("  %r = fcmp ogt float %m, %y\n"));
  EXPECT_TRUE(hides("  %n = fneg float %m\n  %r = fcmp olt float %n, 1.0\n"));
  EXPECT_TRUE(hides("  %n = freeze float %m\n  %r = fcmp ogt float %n, -1.0\n"));
  EXPECT_FALSE(hides("  %n = freeze float %m\n  %r = fcmp ogt float %n, 1.0\n"));
  for (const std::string function : {"maximumnum", "minimumnum", "maxnum", "minnum", "maximum", "minimum"})
    EXPECT_TRUE(hides(bound("n", function, "%m", "%y") + "  %r = fcmp ogt float %n, -1.0\n")) << function;
  EXPECT_TRUE(hides(
      "  %c = icmp eq i32 %a, 0\n  %n = select i1 %c, float %m, float %y\n  %r = fcmp ogt float %n, -1.0\n"));
  EXPECT_FALSE(hides("  %n = fadd float %m, %y\n  %r = fcmp ogt float %n, -1.0\n"));
  EXPECT_FALSE(hides("  %n = call float @llvm.sqrt.f32(float %m)\n  %r = fcmp ogt float %n, -1.0\n"));
  EXPECT_FALSE(changes(codegen::ComparedAbs(), "i1",
                       "  %m = call double @llvm.fabs.f64(double %d)\n  %r = fcmp ogt double %m, -1.0\n"));
  EXPECT_TRUE(changes(codegen::ComparedAbs(), "<2 x i1>",
                      "  %m = call <2 x float> @llvm.fabs.v2f32(<2 x float> %v)\n"
                      "  %r = fcmp ogt <2 x float> %m, <float -1.0, float 2.0>\n"));
  EXPECT_TRUE(changes(codegen::AbsByMaximum(), "i32", "  %r = call i32 @llvm.abs.i32(i32 %a, i1 false)\n"));
  EXPECT_TRUE(changes(codegen::AbsByMaximum(), "i64", "  %r = call i64 @llvm.abs.i64(i64 %l, i1 false)\n"));
  EXPECT_TRUE(changes(codegen::AbsByMaximum(), "<2 x i32>",
                      "  %r = call <2 x i32> @llvm.abs.v2i32(<2 x i32> %w, i1 false)\n"));
  EXPECT_FALSE(changes(codegen::AbsByMaximum(), "i16",
                       "  %h = trunc i32 %a to i16\n  %r = call i16 @llvm.abs.i16(i16 %h, i1 false)\n"));
  EXPECT_FALSE(changes(codegen::AbsByMaximum(), "i32", "  %r = call i32 @llvm.smax.i32(i32 %a, i32 %b)\n"));
}

// proves R36
TEST(HiddenOperations, OfProductsAreThoseThatBecomeHalves) {
  const auto hides = [](const std::string& statements, const std::string& type = "half") {
    return changes(codegen::SignedProducts(), type, statements);
  };
  EXPECT_TRUE(hides("  %m = fmul float %x, %y\n  %r = fptrunc float %m to half\n"));
  EXPECT_FALSE(hides("  %m = fmul nsz float %x, %y\n  %r = fptrunc float %m to half\n"));
  EXPECT_TRUE(hides("  %m = fneg float %x\n  %r = fptrunc float %m to half\n"));
  EXPECT_TRUE(hides("  %m = fdiv float %x, 2.0\n  %r = fptrunc float %m to half\n"));
  EXPECT_TRUE(hides(
      "  %m = call float @llvm.fma.f32(float %x, float %y, float 0.0)\n  %r = fptrunc float %m to half\n"));
  EXPECT_FALSE(hides(
      "  %m = call float @llvm.fma.f32(float %x, float %y, float %z)\n  %r = fptrunc float %m to half\n"));
  EXPECT_TRUE(hides("  %m = call float @llvm.sqrt.f32(float %x)\n  %r = fptrunc float %m to half\n"));
  for (const std::string other : {"load float, ptr %p", "sitofp i32 %a to float", "uitofp i32 %a to float"})
    EXPECT_FALSE(hides("  %m = " + other + "\n  %r = fptrunc float %m to half\n")) << other;
  EXPECT_FALSE(hides("  %r = fptrunc float %x to half\n"));
  EXPECT_FALSE(hides("  %m = fmul double %d, %e\n  %r = fptrunc double %m to half\n"));
  EXPECT_FALSE(hides("  %m = fmul double %d, %e\n  %r = fptrunc double %m to float\n", "float"));
  EXPECT_TRUE(
      hides("  %m = fmul <2 x float> %v, %v\n  %r = fptrunc <2 x float> %m to <2 x half>\n", "<2 x half>"));
}

}  // namespace
}  // namespace weir::test
