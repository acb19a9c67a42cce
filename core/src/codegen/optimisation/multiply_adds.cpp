// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <utility>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Instruction;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

bool may_contract(const Value* v, unsigned opcode) {
  const auto* i = llvm::dyn_cast<Instruction>(v);
  return i && i->getOpcode() == opcode && i->hasAllowContract();
}

bool is_contractible_sum(const Value* v) {
  return may_contract(v, Instruction::FAdd) || may_contract(v, Instruction::FSub);
}

/// A product that only sums use: it disappears when all of them are multiply-adds.
bool is_fusible_product(const Value* v) {
  return may_contract(v, Instruction::FMul) && llvm::all_of(v->users(), is_contractible_sum);
}

/// The fma that replaces a sum or difference, or null if no operand is a fusible product.
Value* fused(Instruction& sum) {
  const bool first = is_fusible_product(sum.getOperand(0));
  if (!first && !is_fusible_product(sum.getOperand(1))) return nullptr;
  Builder b(&sum);
  b.setFastMathFlags(sum.getFastMathFlags());
  const auto* product = llvm::cast<Instruction>(sum.getOperand(first ? 0 : 1));
  Value *factor = product->getOperand(0), *addend = sum.getOperand(first ? 1 : 0);
  if (sum.getOpcode() == Instruction::FSub) {
    Value*& subtracted = first ? addend : factor;
    subtracted = b.CreateFNeg(subtracted);
  }
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {sum.getType()}, {factor, product->getOperand(1), addend});
}

/// Distributes products of integers over sums.
class Distribution {
 public:
  explicit Distribution(const llvm::DominatorTree& tree) : tree_(tree) {}

  /// The sum that replaces a product, or null. Each call's product must follow the products that it depends
  /// on.
  Value* distributed(Instruction& product) {
    Value *x = product.getOperand(0), *y = product.getOperand(1);
    Value* result = over_sum(product, x, y);
    if (!result) result = over_sum(product, y, x);
    products_[{x, y}] = result ? result : &product;
    return result;
  }

 private:
  /// `sum` times `factor`, where one part of the sum has a known product with the factor.
  Value* over_sum(Instruction& product, Value* sum, Value* factor) {
    auto* const add = llvm::dyn_cast<llvm::BinaryOperator>(sum);
    if (!add || add->getOpcode() != Instruction::Add || llvm::isa<llvm::Constant>(factor)) return nullptr;
    for (const unsigned k : {0u, 1u}) {
      Value *part = add->getOperand(k), *rest = add->getOperand(1 - k);
      const bool is_one = llvm::PatternMatch::match(part, llvm::PatternMatch::m_One());
      Value* known = is_one ? factor : earlier_product(product, part, factor);
      // The addition must disappear, unless the multiply-add takes the place of the product alone.
      if (!known || (known != factor && !add->hasOneUse())) continue;
      Builder b(&product);
      return b.CreateAdd(b.CreateMul(rest, factor), known);
    }
    return nullptr;
  }

  Value* earlier_product(const Instruction& user, Value* x, Value* y) const {
    for (const auto& key : {std::pair(x, y), std::pair(y, x)}) {
      const auto found = products_.find(key);
      if (found == products_.end()) continue;
      const auto* i = llvm::dyn_cast<Instruction>(found->second);
      if (i && tree_.dominates(i, &user)) return found->second;
    }
    return nullptr;
  }

  const llvm::DominatorTree& tree_;
  llvm::DenseMap<std::pair<Value*, Value*>, Value*> products_;
};

}  // namespace

llvm::PreservedAnalyses MultiplyAdds::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  Distribution distribution(analyses.getResult<llvm::DominatorTreeAnalysis>(function));
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  std::vector<Instruction*> replaced;
  for (llvm::BasicBlock* block : order)
    for (Instruction& i : llvm::make_early_inc_range(*block)) {
      Value* by = nullptr;
      if (is_contractible_sum(&i) && (i.getType()->isFloatTy() || i.getType()->isDoubleTy()))
        by = fused(i);
      else if (i.getOpcode() == Instruction::Mul && !i.getType()->isVectorTy())
        by = distribution.distributed(i);
      if (!by) continue;
      i.replaceAllUsesWith(by);
      replaced.push_back(&i);
    }
  for (Instruction* i : replaced) i->eraseFromParent();
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace weir::codegen
