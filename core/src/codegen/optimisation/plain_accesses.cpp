// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// A vector of integers or addresses whose lane k is first + k * stride.
struct Line {
  Value* first;
  std::int64_t stride;
};

class Lines {
 public:
  explicit Lines(const llvm::DataLayout& layout) : layout_(layout) {}

  std::optional<Line> of(Value* v) {
    if (!v->getType()->isVectorTy()) return Line{v, 0};
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    std::optional<Line> line = compute(v);
    known_[v] = line;
    return line;
  }

 private:
  std::optional<Line> compute(Value* v) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(v)) return of_constant(constant);
    if (Value* splat = llvm::getSplatValue(v)) return Line{splat, 0};
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(v)) return of_phi(phi);
    if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(v)) return of_address(gep);
    auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (!operation) return std::nullopt;
    const auto a = of(operation->getOperand(0));
    if (!a) return std::nullopt;
    const auto b = of(operation->getOperand(1));
    if (!b) return std::nullopt;
    Builder builder(operation);
    switch (operation->getOpcode()) {
      case llvm::Instruction::Add:
        return Line{builder.CreateAdd(a->first, b->first), a->stride + b->stride};
      case llvm::Instruction::Sub:
        return Line{builder.CreateSub(a->first, b->first), a->stride - b->stride};
      case llvm::Instruction::Mul:
        if (a->stride == 0 && b->stride == 0) return Line{builder.CreateMul(a->first, b->first), 0};
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  static std::optional<Line> of_constant(llvm::Constant* constant) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
    if (!vector || !vector->getElementType()->isIntegerTy(64)) return std::nullopt;
    std::int64_t first = 0, stride = 0;
    for (unsigned k = 0; k < vector->getNumElements(); ++k) {
      auto* element = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(k));
      if (!element) return std::nullopt;
      if (k == 0) first = element->getSExtValue();
      if (k == 1) stride = element->getSExtValue() - first;
      if (element->getSExtValue() != first + std::int64_t(k) * stride) return std::nullopt;
    }
    return Line{llvm::ConstantInt::getSigned(vector->getElementType(), first), stride};
  }

  // The stride of a loop's variable is that of its start; the value from the latch must agree.
  std::optional<Line> of_phi(llvm::PHINode* phi) {
    if (!phi->getType()->getScalarType()->isIntegerTy(64)) return std::nullopt;
    std::optional<Line> start;
    for (Value* incoming : phi->incoming_values()) {
      if (llvm::isa<llvm::Constant>(incoming) || llvm::getSplatValue(incoming) || !depends_on(incoming, phi))
        start = of(incoming);
      if (start) break;
    }
    if (!start) return std::nullopt;
    Builder builder(phi);
    llvm::PHINode* scalar = builder.CreatePHI(phi->getType()->getScalarType(), phi->getNumIncomingValues());
    known_[phi] = Line{scalar, start->stride};
    for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
      const auto line = of(phi->getIncomingValue(k));
      if (!line || line->stride != start->stride) {
        scalar->replaceAllUsesWith(llvm::PoisonValue::get(scalar->getType()));
        scalar->eraseFromParent();
        failed_ = true;
        return std::nullopt;
      }
      scalar->addIncoming(line->first, phi->getIncomingBlock(k));
    }
    return Line{scalar, start->stride};
  }

  static bool depends_on(Value* v, llvm::PHINode* phi) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(v);
    return instruction && llvm::is_contained(instruction->operands(), phi);
  }

  std::optional<Line> of_address(llvm::GetElementPtrInst* gep) {
    if (gep->getNumIndices() != 1) return std::nullopt;
    const auto base = of(gep->getPointerOperand());
    if (!base) return std::nullopt;
    const auto index = of(gep->getOperand(1));
    if (!index || !index->first->getType()->isIntegerTy(64)) return std::nullopt;
    const std::int64_t size = std::int64_t(layout_.getTypeAllocSize(gep->getSourceElementType()));
    Builder builder(gep);
    return Line{
        builder.CreateGEP(gep->getSourceElementType(), base->first, index->first, "", gep->getNoWrapFlags()),
        base->stride + index->stride * size};
  }

 public:
  /// A phi whose assumption turned out wrong may already have been used, so all results are invalid.
  bool failed() const { return failed_; }

 private:
  const llvm::DataLayout& layout_;
  std::map<Value*, std::optional<Line>> known_;
  bool failed_ = false;
};

bool all_lanes(Value* mask) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant && constant->isAllOnesValue();
}

bool replace(llvm::IntrinsicInst& call, Lines& lines, const llvm::DataLayout& layout) {
  const bool gather = call.getIntrinsicID() == llvm::Intrinsic::masked_gather;
  if (!gather && call.getIntrinsicID() != llvm::Intrinsic::masked_scatter) return false;
  const unsigned at = gather ? 0 : 1;
  if (!all_lanes(call.getArgOperand(at + 1))) return false;
  const auto line = lines.of(call.getArgOperand(at));
  if (!line || lines.failed()) return false;
  auto* vector =
      llvm::cast<llvm::FixedVectorType>(gather ? call.getType() : call.getArgOperand(0)->getType());
  llvm::Type* element = vector->getElementType();
  const auto size = std::int64_t(layout.getTypeStoreSize(element));
  const llvm::Align align = call.getParamAlign(at).value_or(llvm::Align(1));
  Builder b(&call);
  llvm::Instruction* access = nullptr;
  if (gather && line->stride == 0) {
    access = b.CreateAlignedLoad(element, line->first, align);
    call.replaceAllUsesWith(b.CreateVectorSplat(vector->getNumElements(), access));
  } else if (line->stride != size) {
    return false;
  } else if (gather) {
    access = b.CreateAlignedLoad(vector, line->first, align);
    call.replaceAllUsesWith(access);
  } else {
    access = b.CreateAlignedStore(call.getArgOperand(0), line->first, align);
  }
  access->setMetadata(llvm::LLVMContext::MD_access_group,
                      call.getMetadata(llvm::LLVMContext::MD_access_group));
  call.eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses PlainAccesses::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) calls.push_back(call);
  bool changed = false;
  for (llvm::IntrinsicInst* call : calls) {
    Lines lines(layout);
    changed |= replace(*call, lines, layout);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
