// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/threads/block_reduction.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/additions.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

class PrivateSums : private FunctionPart {
 public:
  PrivateSums(TaskFunction& f, const Iteration& around, std::vector<ir::Sum> sums)
      : FunctionPart(f), around_(around), sums_(std::move(sums)) {}

  void run(const std::function<void(const Iteration&)>& walk) {
    Iteration::Sums slots;
    for (const ir::Sum& sum : sums_) {
      llvm::Type* type = threads_ ? register_type(context_, sum.addition->type) : b_.getDoubleTy();
      llvm::AllocaInst* slot = stack_slot(type, 1, "sum");
      // The sum of -0 and any number is that number.
      b_.CreateStore(llvm::ConstantFP::getNegativeZero(type), slot);
      slots.emplace(sum.addition, slot);
    }
    {
      const Iteration inside(around_, slots);
      walk(inside);
    }
    for (const ir::Sum& sum : sums_) add_to_element(sum, slots.at(sum.addition));
  }

 private:
  void add_to_element(const ir::Sum& sum, llvm::AllocaInst* slot) {
    Value* total = b_.CreateLoad(slot->getAllocatedType(), slot);
    if (threads_) {
      threads_->barrier(b_);  // the loop and the sum before are done with the block's memory
      f_.reuse_block_memory();
      total = sum_in_block(f_, sum.addition->type, total);
    }
    llvm::Type* bits = b_.getIntNTy(unsigned(total->getType()->getPrimitiveSizeInBits()));
    Value* zero = b_.CreateBitCast(llvm::ConstantFP::getNegativeZero(total->getType()), bits);
    Value* adds = b_.CreateICmpNE(b_.CreateBitCast(total, bits), zero);
    if (threads_) adds = b_.CreateAnd(adds, b_.CreateICmpEQ(threads_->thread(b_), i32(0)));
    llvm::BasicBlock* some = new_block("sum.some");
    llvm::BasicBlock* none = new_block("sum.none");
    b_.CreateCondBr(adds, some, none);
    b_.SetInsertPoint(some);
    if (!threads_ && sum.addition->type == Type::f32) total = b_.CreateFPTrunc(total, b_.getFloatTy());
    const Iteration::Sums no_registers;
    Iteration iteration(around_, no_registers);
    BodyLowering body(f_, iteration);
    for (const ir::Statement* index : sum.indices) body.lower(*index);
    body.update_element(*sum.addition, total);
    b_.CreateBr(none);
    b_.SetInsertPoint(none);
  }

  const Iteration& around_;
  const std::vector<ir::Sum> sums_;
  const ThreadModel* const threads_ = device_.threads();
};

}  // namespace

void sum_privately(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                   const std::function<void(const Iteration&)>& walk) {
  if (!f.device.assumptions().no_alias) return walk(around);
  std::vector<ir::Sum> sums = ir::sums_of(f.kernel, loop);
  if (sums.empty()) return walk(around);
  f.lowering.take(LoweringPath::private_sums);
  PrivateSums(f, around, std::move(sums)).run(walk);
}

}  // namespace weir::codegen
