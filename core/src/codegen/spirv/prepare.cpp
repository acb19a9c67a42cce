// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/prepare.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h>
#include <llvm/Transforms/Scalar/StraightLineStrengthReduce.h>
#include <llvm/Transforms/Scalar/StructurizeCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerMemIntrinsics.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>
#include <llvm/Transforms/Utils/UnifyLoopExits.h>

#include <cstdint>
#include <utility>
#include <vector>
#include <weir/error.hpp>

#include "codegen/spirv/regions.hpp"
#include "codegen/spirv/vector_accesses.hpp"

namespace weir::codegen::spirv {
namespace {

using llvm::Value;

bool passes_local_address(const llvm::Function& f) {
  const auto is_local = [](const llvm::Type* type) {
    return type->isPointerTy() && !is_device_address(type);
  };
  return llvm::any_of(f.args(), [&](const llvm::Argument& a) { return is_local(a.getType()); }) ||
         is_local(f.getReturnType());
}

void inline_functions_on_locals(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || !passes_local_address(f)) continue;
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.removeFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses);
}

/// The type of the scalars of a local array, or null for other memory.
llvm::Type* local_scalar(const Value* address) {
  const auto* local = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address));
  llvm::Type* type = local ? local->getAllocatedType() : nullptr;
  while (type && type->isArrayTy()) type = type->getArrayElementType();
  return type;
}

/// A fill with zeros in words as large as its address and its length allow, because a block's memory that
/// atomic operations also access must not be divided further. The rest as LLVM does it. Zeros of floats are
/// stored as such, so that OpaqueZeros finds them.
void expand_fill(llvm::MemSetInst& fill) {
  const auto* byte = llvm::dyn_cast<llvm::ConstantInt>(fill.getValue());
  constexpr std::uint64_t max_stores = 16;
  Value* const length = fill.getLength();
  const unsigned even_bits =
      llvm::computeKnownBits(length, fill.getFunction()->getDataLayout()).countMinTrailingZeros();
  const llvm::Align align = fill.getDestAlign().valueOrOne();
  llvm::Type* const scalar = local_scalar(fill.getRawDest());
  const bool is_float = scalar && scalar->isFloatingPointTy();
  for (const unsigned bits : {3u, 2u, 1u, 0u}) {
    const std::uint64_t size = std::uint64_t{1} << bits;
    if (is_float && scalar->getPrimitiveSizeInBits() != 8 * size) continue;
    if (!byte || !byte->isZero() || align < size || even_bits < bits) continue;
    llvm::IRBuilder<> b(&fill);
    llvm::Type* type = is_float ? scalar : b.getIntNTy(unsigned(8 * size));
    Value* const count = b.CreateLShr(length, bits);
    const auto store = [&](llvm::IRBuilder<>& at, Value* k) {
      at.CreateAlignedStore(llvm::Constant::getNullValue(type),
                            at.CreateInBoundsGEP(type, fill.getRawDest(), k), llvm::Align(size));
    };
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
    if (known && known->getZExtValue() <= max_stores) {
      for (std::uint64_t k = 0; k < known->getZExtValue(); ++k) store(b, b.getInt64(k));
    } else {
      Value* const any = b.CreateICmpNE(count, llvm::ConstantInt::get(count->getType(), 0));
      llvm::Instruction* const then = llvm::SplitBlockAndInsertIfThen(any, &fill, false);
      auto [body, index] = llvm::SplitBlockAndInsertSimpleForLoop(count, then->getIterator());
      llvm::IRBuilder<> inside(body);
      store(inside, index);
    }
    fill.eraseFromParent();
    return;
  }
  llvm::expandMemSetAsLoop(&fill);
  fill.eraseFromParent();
}

void expand_memory_intrinsics(llvm::Function& f) {
  std::vector<llvm::MemIntrinsic*> calls;
  for (llvm::Instruction& i : llvm::instructions(f))
    if (auto* call = llvm::dyn_cast<llvm::MemIntrinsic>(&i)) calls.push_back(call);
  for (llvm::MemIntrinsic* call : calls) {
    if (auto* fill = llvm::dyn_cast<llvm::MemSetInst>(call)) {
      expand_fill(*fill);
    } else if (auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(call)) {
      llvm::TargetTransformInfo target(f.getDataLayout());
      llvm::expandMemCpyAsLoop(copy, target);
      copy->eraseFromParent();
    }
  }
}

/// NVIDIA's compiler goes on with the number that was converted to an f16 where the f16 is converted back at
/// once (tests/evidence/vulkan.md). It must keep bits to which unknown ones are added.
class RoundedHalves : public llvm::PassInfoMixin<RoundedHalves> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    std::vector<llvm::Instruction*> rounded;
    for (llvm::Instruction& i : llvm::instructions(f))
      if (i.getType()->isHalfTy() && llvm::isa<llvm::FPTruncInst, llvm::UIToFPInst, llvm::SIToFPInst>(i) &&
          llvm::any_of(i.users(), [](const llvm::User* user) { return !llvm::isa<llvm::StoreInst>(user); }))
        rounded.push_back(&i);
    for (llvm::Instruction* i : rounded) {
      llvm::IRBuilder<> b(i->getNextNode());
      Value* const own = b.CreateBitCast(i, b.getInt16Ty());
      Value* const zero = b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {b.getFloatTy()},
                                            {llvm::ConstantFP::get(b.getFloatTy(), 0)});
      Value* const bits =
          b.CreateOr(b.CreateZExt(own, b.getInt32Ty()), b.CreateBitCast(zero, b.getInt32Ty()));
      Value* const kept = b.CreateBitCast(b.CreateTrunc(bits, b.getInt16Ty()), i->getType());
      i->replaceUsesWithIf(kept, [&](const llvm::Use& use) { return use.getUser() != own; });
    }
    return rounded.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
};

void replace_address(Value& from, Value& to) {
  for (llvm::User* user : llvm::make_early_inc_range(from.users())) {
    if (auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
      const std::vector<Value*> indices(place->idx_begin(), place->idx_end());
      auto* const moved = llvm::GetElementPtrInst::Create(place->getSourceElementType(), &to, indices,
                                                          place->getName(), place->getIterator());
      moved->setNoWrapFlags(place->getNoWrapFlags());
      replace_address(*place, *moved);
      place->eraseFromParent();
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      load->setOperand(llvm::LoadInst::getPointerOperandIndex(), &to);
    } else {
      throw Error(ErrorCode::compile,
                  "SPIR-V: a table of constants is not only loaded from; report this as a bug of Weir");
    }
  }
}

/// LLVM puts tables of constants, such as those of a switch, into the address space of globals, which is that
/// of arrays. Vulkan has only private tables.
void make_tables_private(llvm::Module& module) {
  std::vector<llvm::GlobalVariable*> tables;
  for (llvm::GlobalVariable& global : module.globals())
    if (is_device_address(global.getType())) tables.push_back(&global);
  for (llvm::GlobalVariable* table : tables) {
    if (!table->isConstant() || !table->hasInitializer())
      throw Error(ErrorCode::compile,
                  "SPIR-V: a global variable is not constant; report this as a bug of Weir");
    llvm::convertUsersOfConstantsToInstructions({table});
    auto* const moved = new llvm::GlobalVariable(
        module, table->getValueType(), true, llvm::GlobalValue::PrivateLinkage, table->getInitializer(),
        table->getName() + ".private", nullptr, llvm::GlobalValue::NotThreadLocal, 0);
    moved->setAlignment(table->getAlign());
    replace_address(*table, *moved);
    table->eraseFromParent();
  }
}

/// Replaces `unreachable` by a return, so that every path ends in the one return.
void return_from_unreachable(llvm::Function& f) {
  for (llvm::BasicBlock& block : f) {
    auto* end = llvm::dyn_cast<llvm::UnreachableInst>(block.getTerminator());
    if (!end) continue;
    llvm::Type* type = f.getReturnType();
    llvm::ReturnInst::Create(f.getContext(), type->isVoidTy() ? nullptr : llvm::PoisonValue::get(type),
                             end->getIterator());
    end->eraseFromParent();
  }
}

/// A loop without an exit gets one that is never taken, so that every block reaches the return.
void end_endless_loops(llvm::Function& f) {
  llvm::DominatorTree dominators(f);
  llvm::LoopInfo loops(dominators);
  std::vector<llvm::BasicBlock*> latches;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop->getExitBlocks(exits);
    llvm::SmallVector<llvm::BasicBlock*, 4> of_loop;
    loop->getLoopLatches(of_loop);
    for (llvm::BasicBlock* latch : of_loop)
      if (exits.empty() && latch->getSingleSuccessor()) latches.push_back(latch);
  }
  for (llvm::BasicBlock* latch : latches) {
    auto* end = llvm::BasicBlock::Create(f.getContext(), "never", &f);
    llvm::Type* type = f.getReturnType();
    llvm::ReturnInst::Create(f.getContext(), type->isVoidTy() ? nullptr : llvm::PoisonValue::get(type), end);
    llvm::BasicBlock* header = latch->getSingleSuccessor();
    latch->getTerminator()->eraseFromParent();
    llvm::BranchInst::Create(header, end, llvm::ConstantInt::getTrue(f.getContext()), latch);
  }
}

void drop_freezes(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f)))
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(&i)) {
      freeze->replaceAllUsesWith(freeze->getOperand(0));
      freeze->eraseFromParent();
    }
}

/// Compares integers that were extended from signed 32 bits or less to 64 bits with a constant before the
/// extension. llvmpipe of Mesa 22.3.6 evaluates such a comparison in 64 bits as false
/// (tests/evidence/vulkan.md).
struct CompareBeforeExtension : llvm::PassInfoMixin<CompareBeforeExtension> {
  static bool narrow(llvm::ICmpInst& compare) {
    llvm::CmpPredicate predicate = compare.getCmpPredicate();
    Value *left = compare.getOperand(0), *right = compare.getOperand(1);
    if (llvm::isa<llvm::ConstantInt>(left)) {
      std::swap(left, right);
      predicate = llvm::CmpInst::getSwappedPredicate(predicate);
    }
    const auto* extended = llvm::dyn_cast<llvm::SExtInst>(left);
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(right);
    if (!extended || !constant || !left->getType()->isIntegerTy(64)) return false;
    Value* source = extended->getOperand(0);
    const unsigned bits = source->getType()->getIntegerBitWidth();
    // Sign extension keeps the order of both signed and unsigned numbers.
    if (bits > 32 || bits == 1 || !constant->getValue().isSignedIntN(32)) return false;
    llvm::IRBuilder<> b(&compare);
    Value* const narrow = b.CreateICmp(predicate, b.CreateSExt(source, b.getInt32Ty()),
                                       b.getInt32(std::uint32_t(constant->getSExtValue())));
    compare.replaceAllUsesWith(narrow);
    compare.eraseFromParent();
    return true;
  }

  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    bool changed = false;
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f)))
      if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&i)) changed |= narrow(*compare);
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

}  // namespace

void prepare(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, const ExactOperations& exact,
             bool with_vectors) {
  inline_functions_on_locals(module, analyses);
  make_tables_private(module);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    expand_memory_intrinsics(f);
    return_from_unreachable(f);
    end_endless_loops(f);
  }
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
  llvm::ScalarizerPassOptions scalars;
  scalars.ScalarizeLoadStore = true;
  llvm::FunctionPassManager scalar, simple;
  scalar.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  scalar.addPass(llvm::ScalarizerPass(scalars));
  // As in LLVM's pipelines of GPUs, which end in instruction selection: neighbours get one address with
  // constant offsets, rows one product.
  scalar.addPass(llvm::SeparateConstOffsetFromGEPPass());
  scalar.addPass(llvm::StraightLineStrengthReducePass());
  simple.addPass(WideIntegers(WideIntegers::Conversions::plain));
  simple.addPass(BasicOperations());
  simple.addPass(MinMaxBySelect());
  simple.addPass(SignsByBits());
  simple.addPass(SplitIntegers());
  simple.addPass(CompareBeforeExtension());
  simple.addPass(MultiplyAdds());
  simple.addPass(llvm::EarlyCSEPass());
  simple.addPass(llvm::ADCEPass());
  simple.addPass(OpaqueZeros(OpaqueZeros::Zeros::all));
  simple.addPass(RoundedHalves());
  if (with_vectors) simple.addPass(VectorAccesses());
  simple.addPass(llvm::LowerSwitchPass());
  simple.addPass(llvm::UnifyFunctionExitNodesPass());
  simple.addPass(llvm::FixIrreduciblePass());
  simple.addPass(llvm::LoopSimplifyPass());
  simple.addPass(llvm::UnifyLoopExitsPass());
  simple.addPass(llvm::StructurizeCFGPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(scalar)));
  passes.addPass(ExactArithmetic(exact));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(simple)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses);
  for (llvm::Function& f : module) drop_freezes(f);
}

}  // namespace weir::codegen::spirv
