// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/task_loops.hpp"
#include "codegen/lowering/threads/grid_barrier.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

class Phases : private FunctionPart {
 public:
  Phases(TaskFunction& f, Iteration& around) : FunctionPart(f), around_(around) {}

  /// Each block of the launch runs its share of the region's blocks.
  void region(const ir::Statement& s) {
    const Share share = device_.share_of_block(b_, *f_.function, kernel_, task_, i64(s.bodies.size()));
    llvm::AllocaInst* number = stack_slot(b_.getInt64Ty(), 1, "region.block");
    llvm::BasicBlock* head = new_block("region");
    llvm::BasicBlock* inside = new_block("region.body");
    llvm::BasicBlock* done = new_block("region.done");
    b_.CreateStore(share.begin, number);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    Value* i = b_.CreateLoad(b_.getInt64Ty(), number);
    b_.CreateCondBr(b_.CreateICmpSLT(i, share.end), inside, done);
    b_.SetInsertPoint(inside);
    const unsigned before = f_.independent_loops;
    for (std::size_t k = 0; k < s.bodies.size(); ++k) {
      llvm::BasicBlock* own = new_block("region.own");
      llvm::BasicBlock* next = new_block("region.next");
      b_.CreateCondBr(b_.CreateICmpEQ(i, i64(k)), own, next);
      b_.SetInsertPoint(own);
      lower(s.bodies[k]);
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
    }
    b_.CreateStore(b_.CreateAdd(i, share.step), number);
    end_round(f_, before);
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  void lower(const ir::Block& block) {
    for (std::size_t i = 0; i < block.statements.size(); ++i) {
      const ir::Statement& s = block.statements[i];
      const TaskFunction::LineScope line(f_, s);
      if (s.op == ir::Op::repeat) {
        repeat(s);
      } else if (s.op == ir::Op::phase) {
        phase(s);
        broadcast(s);
        barrier(f_.replicated && f_.replicated->grid_waits_after(block, i));
      } else {
        BodyLowering(f_, around_).lower(s);
      }
    }
  }

  /// The values of earlier tasks.
  void take_values() {
    if (take_copies(places([](const ir::ReplicatedPhases::Copy& copy) { return copy.enters; })))
      barrier(true);
  }
  /// The values for later tasks.
  void leave_values() {
    leave_copies(places([](const ir::ReplicatedPhases::Copy& copy) { return copy.leaves; }));
  }

 private:
  /// All threads run the loop. A barrier at the end of a repetition lets all threads read the values that
  /// control it before one thread writes them again. That of a last phase serves for it.
  void repeat(const ir::Statement& s) {
    Value* count = around_.value(s.operands.at(0));
    llvm::AllocaInst* number = stack_slot(b_.getInt64Ty(), 1, "repetition");
    llvm::BasicBlock* head = new_block("repeat");
    llvm::BasicBlock* inside = new_block("repeat.body");
    llvm::BasicBlock* done = new_block("repeat.done");
    b_.CreateStore(i64(0), number);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    Value* i = b_.CreateLoad(b_.getInt64Ty(), number);
    b_.CreateCondBr(b_.CreateICmpSLT(i, count), inside, done);
    b_.SetInsertPoint(inside);
    const unsigned before = f_.independent_loops;
    around_.define(s.bodies.at(0).arguments.at(0), Type::i64, i);
    if (ir::has_condition(s)) {
      lower(s.bodies[0]);
      llvm::BasicBlock* body = new_block("repeat.holds");
      b_.CreateCondBr(around_.yielded, body, done);
      b_.SetInsertPoint(body);
    }
    lower(s.bodies.back());
    const ir::Block& last = s.bodies.back();
    const bool ends_in_phase = !last.statements.empty() && last.statements.back().op == ir::Op::phase;
    const bool grid_waits = f_.replicated && f_.replicated->grid_waits_after_repetition(s);
    const bool grid_waited =
        ends_in_phase && f_.replicated && f_.replicated->grid_waits_after(last, last.statements.size() - 1);
    if (grid_waits ? !grid_waited : !ends_in_phase) barrier(grid_waits);
    b_.CreateStore(b_.CreateAdd(i, i64(1)), number);
    end_round(f_, before);
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  /// A failure or the end of a thread's part ends the phase, not the task.
  void phase(const ir::Statement& s) {
    const ir::Block& block = s.bodies.at(0);
    llvm::BasicBlock* const end = new_block("phase.end");
    llvm::BasicBlock* const outer = std::exchange(f_.return_block, end);
    f_.reuse_block_memory();
    const ir::Op last = block.statements.empty() ? ir::Op::constant : block.statements.back().op;
    const bool reduces = last == ir::Op::reduce;
    const ReduceScratch scratch{std::uint32_t(s.immediate >> 32), std::uint32_t(s.immediate)};
    if (!reduces && last != ir::Op::parallel) {
      f_.lowering.take(LoweringPath::serial);
      const bool in_each_block = f_.replicated && f_.replicated->in_each_block(s);
      if (in_each_block) f_.lowering.take(LoweringPath::replicated_phases);
      stay_in_one_thread(f_, in_each_block);
    }
    {
      Iteration iteration(around_, s, {});
      iteration.end = end;
      lower_statements(f_, iteration, block, scratch);
      if (reduces) {
        barrier(f_.replicated.has_value());
        const ir::Statement& loop = block.statements.back();
        Reduction how(f_, loop, scratch);
        combine_chunks(f_, how, how.chunks_of(space_of(f_, iteration, loop).total).second);
      }
    }
    f_.return_block = outer;
    f_.jump(end);
    end->moveAfter(&f_.function->back());
    b_.SetInsertPoint(end);
  }

  /// All blocks take the values that one thread of the grid has set.
  void broadcast(const ir::Statement& phase) {
    if (!f_.replicated) return;
    const std::vector<std::size_t> set = f_.replicated->set_by_one_block(phase);
    if (!leave_copies(set)) return;
    barrier(true);
    take_copies(set);
  }

  /// Each block takes values from scratch memory. Returns whether there are any.
  bool take_copies(const std::vector<std::size_t>& places) {
    return one_thread_copies(places, true,
                             [&](Type type, Value* own, Value* shared) { copy(type, shared, own); });
  }
  /// Block 0 leaves its copies in scratch memory.
  bool leave_copies(const std::vector<std::size_t>& places) {
    return one_thread_copies(places, false,
                             [&](Type type, Value* own, Value* shared) { copy(type, own, shared); });
  }
  bool one_thread_copies(const std::vector<std::size_t>& places, bool of_each_block, const auto& one) {
    if (places.empty()) return false;
    llvm::BasicBlock* const end = new_block("copies.end");
    llvm::BasicBlock* const outer = std::exchange(f_.return_block, end);
    stay_in_one_thread(f_, of_each_block);
    for (const std::size_t place : places) {
      const ir::ReplicatedPhases::Copy& copied = f_.replicated->copies()[place];
      one(copied.type, f_.scratch_address(copied.offset),
          b_.CreateInBoundsGEP(b_.getInt8Ty(), f_.arguments.scratch(), i64(copied.offset)));
    }
    f_.return_block = outer;
    b_.CreateBr(end);
    b_.SetInsertPoint(end);
    return true;
  }
  void copy(Type type, Value* from, Value* to) {
    llvm::Type* t = memory_type(context_, type);
    const llvm::Align alignment(size_of(type));
    b_.CreateAlignedStore(b_.CreateAlignedLoad(t, from, alignment), to, alignment);
  }

  std::vector<std::size_t> places(const auto& wanted) {
    std::vector<std::size_t> found;
    if (!f_.replicated) return found;
    for (std::size_t k = 0; k < f_.replicated->copies().size(); ++k)
      if (wanted(f_.replicated->copies()[k])) found.push_back(k);
    return found;
  }

  /// Of all threads of the grid, or of the block.
  void barrier(bool of_grid) {
    if (of_grid)
      grid_barrier(f_);
    else if (device_.threads())
      device_.threads()->barrier(b_);
  }

  Iteration& around_;
};

}  // namespace

void lower_phases(TaskFunction& f, Iteration& around) {
  f.lowering.take(LoweringPath::phases);
  if (ir::region_blocks(f.task) > 1) {
    f.lowering.take(LoweringPath::region);
    return Phases(f, around).region(f.task.body.statements.back());
  }
  if (f.task.cooperative && !f.device.threads()) f.fail("blocks of this target cannot wait for each other");
  if (f.task.cooperative)
    f.lowering.take(LoweringPath::grid_phases);
  else
    stay_in_first_block(f);
  Phases phases(f, around);
  phases.take_values();
  phases.lower(f.task.body);
  phases.leave_values();
}

}  // namespace weir::codegen
