// SPDX-License-Identifier: Apache-2.0
// Structured control, and the failures that end an iteration.
#include <weir/error.hpp>

#include "codegen/lowering.hpp"
#include "ir/error_record.hpp"

namespace weir::codegen {

using llvm::Value;

void TaskLowering::lower_if(const ir::Statement& s) {
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* other = new_block("else");
  llvm::BasicBlock* done = new_block("if.done");
  b_.CreateCondBr(value(s.operands.at(0)), then, other);
  b_.SetInsertPoint(then);
  lower_block(s.bodies.at(0));
  jump(done);
  b_.SetInsertPoint(other);
  lower_block(s.bodies.at(1));
  jump(done);
  b_.SetInsertPoint(done);
}

void TaskLowering::lower_while(const ir::Statement& s) {
  llvm::BasicBlock* head = new_block("while");
  llvm::BasicBlock* body = new_block("while.body");
  llvm::BasicBlock* done = new_block("while.done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  lower_block(s.bodies.at(0));
  b_.CreateCondBr(yielded_, body, done);
  b_.SetInsertPoint(body);
  loops_.push_back({done, head});
  lower_block(s.bodies.at(1));
  loops_.pop_back();
  jump(head);
  b_.SetInsertPoint(done);
}

void TaskLowering::lower_for(const ir::Statement& s) {
  if (lower_staged(s)) return;
  lower_for(s, value(s.operands.at(0)), [&](Value* i) {
    values_.at(s.bodies.at(0).arguments.at(0)) = i;
    lower_block(s.bodies[0]);
  });
}

llvm::BranchInst* TaskLowering::lower_for(const ir::Statement& s, Value* low,
                                          const std::function<void(Value*)>& body) {
  Value* high = value(s.operands.at(1));
  Value* step = value(s.operands.at(2));
  llvm::BasicBlock* loop = new_block("for");
  llvm::BasicBlock* latch = new_block("for.next");
  llvm::BasicBlock* done = new_block("for.done");
  Value* some = b_.CreateAnd(b_.CreateICmpSLT(low, high), b_.CreateICmpSGT(step, i64(0)));
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(some, loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(low, before);
  types_.at(s.bodies.at(0).arguments.at(0)) = Type::i64;
  loops_.push_back({done, latch});
  body(i);
  loops_.pop_back();
  jump(latch);
  b_.SetInsertPoint(latch);
  // i + step may pass the largest i64 when the loop is over; the test does not.
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool by_one = constant && constant->isOne();
  Value* next = b_.CreateAdd(i, step, "", false, by_one);
  i->addIncoming(next, latch);
  llvm::BranchInst* end = b_.CreateCondBr(
      by_one ? b_.CreateICmpSLT(next, high) : b_.CreateICmpUGT(b_.CreateSub(high, i), step), loop, done);
  b_.SetInsertPoint(done);
  return end;
}

void TaskLowering::lower_assert(const ir::Statement& s) {
  fail_unless(value(s.operands.at(0)), s, {}, {});
}

void TaskLowering::check_index(const ir::Statement& s, const std::vector<Value*>& indices,
                               const std::vector<Value*>& extents) {
  // Negative indices are huge as unsigned ones.
  Value* inside = b_.getTrue();
  for (std::size_t d = 0; d < indices.size(); ++d)
    inside = b_.CreateAnd(inside, b_.CreateICmpULT(indices[d], extents[d]));
  fail_unless(inside, s, indices, extents);
}

void TaskLowering::fail_unless(Value* holds, const ir::Statement& s, const std::vector<Value*>& indices,
                               const std::vector<Value*>& extents) {
  if (!error_record_ || !site_base_)
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name +
                                        "': it can fail, but the error record is no task argument");
  llvm::BasicBlock* good = new_block("holds");
  llvm::BasicBlock* bad = new_block("fails");
  b_.CreateCondBr(holds, good, bad, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(bad);
  std::vector<Value*> arguments{error_record_, b_.CreateAdd(site_base_, i32(site(s)))};
  const auto append = [&](const std::vector<Value*>& list) {
    for (std::size_t d = 0; d < max_rank; ++d) arguments.push_back(d < list.size() ? list[d] : i64(0));
  };
  append(loop_indices_);
  append(indices);
  append(extents);
  b_.CreateCall(failure_report(), arguments);
  b_.CreateBr(iteration_end_);
  b_.SetInsertPoint(good);
}

/// void (record, site, loop indices, array indices, extents): claims the record and fills it, or leaves it
/// alone.
llvm::Function* TaskLowering::failure_report() {
  constexpr const char* name = "weir_report_failure";
  if (llvm::Function* f = module_.getFunction(name)) return f;
  std::vector<llvm::Type*> parameters{error_record_->getType(), b_.getInt32Ty()};
  parameters.insert(parameters.end(), 3 * max_rank, b_.getInt64Ty());
  llvm::Function* f = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameters, false),
                                             llvm::GlobalValue::InternalLinkage, name, module_);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::Cold);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  Builder b(llvm::BasicBlock::Create(context_, "entry", f));
  llvm::BasicBlock* first = llvm::BasicBlock::Create(context_, "first", f);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "done", f);
  Value* record = f->getArg(0);
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  // Only threads of this device claim a record; one in the host's memory takes no exchange that the host is
  // part of.
  Value* claim = b.CreateAtomicCmpXchg(record, b.getInt32(ir::ErrorRecord::free),
                                       b.getInt32(ir::ErrorRecord::being_written), llvm::Align(4), relaxed,
                                       relaxed, device_.device_scope(context_));
  b.CreateCondBr(b.CreateExtractValue(claim, 1), first, done);
  b.SetInsertPoint(first);
  const auto at = [&](std::size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset);
  };
  b.CreateStore(f->getArg(1), at(offsetof(ir::ErrorRecord, site)));
  constexpr std::size_t fields[] = {offsetof(ir::ErrorRecord, index), offsetof(ir::ErrorRecord, array_index),
                                    offsetof(ir::ErrorRecord, extent)};
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned d = 0; d < max_rank; ++d)
      b.CreateStore(f->getArg(2 + k * unsigned(max_rank) + d), at(fields[k] + 8 * d));
  b.CreateAlignedStore(b.getInt32(ir::ErrorRecord::complete), record, llvm::Align(4))
      ->setAtomic(llvm::AtomicOrdering::Release);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return f;
}

}  // namespace weir::codegen
