// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/optimisation/assembly.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

bool is_bound_of_words(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call &&
         (call->getIntrinsicID() == llvm::Intrinsic::smax ||
          call->getIntrinsicID() == llvm::Intrinsic::smin) &&
         call->getType()->getScalarType()->isIntegerTy(32);
}

Value* negated(Value* v) {
  Value* x = nullptr;
  return match::match(v, match::m_Neg(match::m_Value(x))) ? x : nullptr;
}

/// -x as ~x + 1, which ptxas does not take for a negation.
Value* by_complement(llvm::IRBuilder<>& b, Value* x) {
  return by_elements(b, x, [&](Value* word) {
    return assembly(b, "{ .reg .b32 n; not.b32 n, $1; add.s32 $0, n, 1; }", "=r,r", b.getInt32Ty(), word);
  });
}

}  // namespace

llvm::PreservedAnalyses NegationsFirst::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!is_bound_of_words(i)) continue;
    Value* const second = negated(i.getOperand(1));
    if (!second) continue;
    if (negated(i.getOperand(0))) {
      llvm::IRBuilder<> b(&i);
      i.setOperand(1, by_complement(b, second));
    } else {
      Value* const first = i.getOperand(0);
      i.setOperand(0, i.getOperand(1));
      i.setOperand(1, first);
    }
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
