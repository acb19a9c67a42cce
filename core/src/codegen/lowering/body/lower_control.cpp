// SPDX-License-Identifier: Apache-2.0
// Structured control, and the failures that end an iteration.
#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/body/reports.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/threads/staged_loops.hpp"
#include "ir/error_record.hpp"

namespace weir::codegen {

using llvm::Value;

void BodyLowering::lower_if(const ir::Statement& s) {
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* other = new_block("else");
  llvm::BasicBlock* done = new_block("if.done");
  b_.CreateCondBr(it_.value(s.operands.at(0)), then, other);
  b_.SetInsertPoint(then);
  lower(s.bodies.at(0));
  jump(done);
  b_.SetInsertPoint(other);
  lower(s.bodies.at(1));
  jump(done);
  b_.SetInsertPoint(done);
}

void BodyLowering::lower_while(const ir::Statement& s) {
  llvm::BasicBlock* head = new_block("while");
  llvm::BasicBlock* body = new_block("while.body");
  llvm::BasicBlock* next = device_.threads() ? head : new_block("while.next");
  llvm::BasicBlock* done = new_block("while.done");
  const unsigned before = f_.independent_loops;
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  lower(s.bodies.at(0));
  b_.CreateCondBr(it_.yielded, body, done);
  b_.SetInsertPoint(body);
  it_.loops.push_back({done, next});
  lower(s.bodies.at(1));
  it_.loops.pop_back();
  jump(next);
  if (next != head) {
    b_.SetInsertPoint(next);
    end_round(f_, before);
    jump(head);
  }
  b_.SetInsertPoint(done);
}

void BodyLowering::lower_for(const ir::Statement& s) {
  if (staged_ && staged_->lower(*this, it_, s)) return;
  const ir::Block& body = s.bodies.at(0);
  llvm::BranchInst* const latch =
      sequential_loop(f_, it_.value(s.operands.at(0)), it_.value(s.operands.at(1)),
                      it_.value(s.operands.at(2)), [&](Value* i, const Iteration::Exits& exits) {
                        it_.define(body.arguments.at(0), Type::i64, i);
                        it_.loops.push_back(exits);
                        lower(body);
                        it_.loops.pop_back();
                      });
  if (!device_.threads()) unroll_if_constant(f_, latch);
}

void BodyLowering::lower_assert(const ir::Statement& s) {
  fail_unless(it_.value(s.operands.at(0)), s, {}, {});
}

/// Whether the record holds a failure that the host has not reported, complete or not.
Value* BodyLowering::has_failed() {
  llvm::LoadInst* state = b_.CreateAlignedLoad(b_.getInt32Ty(), f_.arguments.error_record(), llvm::Align(4));
  state->setAtomic(llvm::AtomicOrdering::Monotonic, device_.device_scope(context_));
  static_assert(ir::ErrorRecord::being_written == 1 && ir::ErrorRecord::complete == 2);
  return b_.CreateICmpULT(b_.CreateSub(state, i32(ir::ErrorRecord::being_written)), i32(2));
}

void BodyLowering::lower_print(const ir::Statement& s) {
  std::vector<Value*> arguments{f_.arguments.print_buffer(),
                                b_.CreateAdd(f_.arguments.site_base(), i32(f_.site(s))),
                                f_.arguments.launch()};
  const std::vector<Value*>& indices = it_.indices();
  for (std::size_t d = 0; d < max_rank; ++d) arguments.push_back(d < indices.size() ? indices[d] : i64(0));
  for (const ir::ValueId id : s.operands) {
    Value* value = it_.value(id);
    if (value->getType()->isFloatingPointTy())
      value = b_.CreateBitCast(value, b_.getIntNTy(value->getType()->getScalarSizeInBits()));
    arguments.push_back(b_.CreateZExt(value, b_.getInt64Ty()));
  }
  b_.CreateCall(print_entry(f_, s.operands.size()), arguments);
}

void BodyLowering::check_index(const ir::Statement& s, const std::vector<Value*>& indices,
                               const std::vector<Value*>& extents) {
  // Negative indices are very large as unsigned numbers.
  Value* inside = b_.getTrue();
  for (std::size_t d = 0; d < indices.size(); ++d)
    inside = b_.CreateAnd(inside, b_.CreateICmpULT(indices[d], extents[d]));
  fail_unless(inside, s, indices, extents);
}

void BodyLowering::fail_unless(Value* holds, const ir::Statement& s, const std::vector<Value*>& indices,
                               const std::vector<Value*>& extents) {
  Value* record = f_.arguments.error_record();
  Value* site_base = f_.arguments.site_base();
  llvm::BasicBlock* good = new_block("holds");
  llvm::BasicBlock* bad = new_block("fails");
  b_.CreateCondBr(holds, good, bad, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(bad);
  std::vector<Value*> arguments{record, b_.CreateAdd(site_base, i32(f_.site(s)))};
  const auto append = [&](const std::vector<Value*>& list) {
    for (std::size_t d = 0; d < max_rank; ++d) arguments.push_back(d < list.size() ? list[d] : i64(0));
  };
  append(it_.indices());
  append(indices);
  append(extents);
  b_.CreateCall(failure_report(f_), arguments);
  b_.CreateBr(it_.end);
  b_.SetInsertPoint(good);
}

void lower_iteration(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                     const std::vector<llvm::Value*>& indices, llvm::MDNode* access_group,
                     StagedLoops* staged) {
  Iteration iteration(around, loop, indices);
  iteration.access_group = access_group;
  iteration.end = f.new_block("iteration.end");
  iteration.loops.push_back({nullptr, iteration.end});
  BodyLowering(f, iteration, staged).lower(loop.bodies.at(0));
  f.jump(iteration.end);
  f.b.SetInsertPoint(iteration.end);
}

}  // namespace weir::codegen
