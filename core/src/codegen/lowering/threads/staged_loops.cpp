// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/staged_loops.hpp"

#include <algorithm>
#include <bit>

#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/threads/staging.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// Only innermost loops are unrolled: the copies of nested loops would multiply.
std::uint32_t staged_unroll(const ir::Block& round) {
  const bool innermost = std::none_of(round.statements.begin(), round.statements.end(),
                                      [](const ir::Statement& s) { return !s.bodies.empty(); });
  return innermost ? 16 : 1;
}

/// Whether all lanes that run together with this one have an iteration of the share: their positions are
/// consecutive. The result is the same in all of them.
Value* all_inside(TaskFunction& f, Words& words, Value* position, Value* end) {
  const ThreadModel& threads = *f.device.threads();
  Value* lane = f.b.CreateAnd(threads.thread(f.b), f.i32(threads.lanes() - 1));
  Value* last = f.b.CreateAdd(f.b.CreateSub(position, f.b.CreateZExt(lane, words.type())),
                              words.word(threads.lanes() - 1));
  return f.b.CreateICmpULT(last, end);
}

}  // namespace

StagedLoops::StagedLoops(TaskFunction& f, const ir::Statement& parallel, Words& words, Value* position,
                         Value* end)
    : FunctionPart(f), parallel_(parallel), all_inside_(all_inside(f, words, position, end)) {}

bool StagedLoops::lower(BodyLowering& body, Iteration& iteration, const ir::Statement& s) {
  const auto* step = llvm::dyn_cast<llvm::ConstantInt>(iteration.value(s.operands.at(2)));
  if (!step || !step->isOne()) return false;
  const std::vector<std::uint32_t> arrays = staged_arrays(kernel_, parallel_, s, device_.assumptions());
  if (arrays.empty() || !memory_fits()) return false;
  f_.lowering.take(LoweringPath::staged_reads);
  const std::uint32_t length = stage_length(kernel_, arrays);
  const ir::Block& round = s.bodies.at(0);
  const ir::ValueId index = round.arguments.at(0);

  llvm::AllocaInst* at = stack_slot(b_.getInt64Ty(), 1, "stretch");
  b_.CreateStore(iteration.value(s.operands[0]), at);
  Value* high = iteration.value(s.operands[1]);
  while_loop(
      f_,
      [&] {
        Value* from = b_.CreateLoad(b_.getInt64Ty(), at);
        Value* long_enough = b_.CreateAnd(b_.CreateICmpSLT(from, high),
                                          b_.CreateICmpUGE(b_.CreateSub(high, from), i64(length)));
        return b_.CreateAnd(all_inside_, long_enough);
      },
      [&] {
        Value* from = b_.CreateLoad(b_.getInt64Ty(), at);
        stretches_.push_back(load_stretch(index, arrays, from, length));
        // The rounds are straight code, so that none ends early.
        stepped_loop(f_, i64(0), i64(length), 1, staged_unroll(round), [&](Value* k) {
          stretches_.back().place = k;
          iteration.define(index, Type::i64, b_.CreateNSWAdd(from, k));
          body.lower(round);
        });
        stretches_.pop_back();
        b_.CreateStore(b_.CreateNSWAdd(from, i64(length)), at);
      });
  sequential_loop(f_, b_.CreateLoad(b_.getInt64Ty(), at), high, iteration.value(s.operands[2]),
                  [&](Value* i, const Iteration::Exits& exits) {
                    iteration.define(index, Type::i64, i);
                    iteration.loops.push_back(exits);
                    body.lower(round);
                    iteration.loops.pop_back();
                  });
  return true;
}

std::uint32_t StagedLoops::groups() const {
  const ThreadModel& threads = *device_.threads();
  return threads.block_threads(kernel_, task_) / threads.lanes();
}

bool StagedLoops::memory_fits() const {
  return (stretches_.size() + 1) * groups() * stage_bytes <= max_stage_bytes_of_block;
}

/// Loops that are not nested share this memory: load_stretch() waits for the readers of an earlier stretch.
llvm::GlobalVariable* StagedLoops::memory() {
  auto* type = llvm::ArrayType::get(b_.getInt8Ty(), std::uint64_t{groups()} * stage_bytes);
  return f_.named_block_memory(type, "_stage" + std::to_string(stretches_.size()));
}

/// Loads elements [from, from + length) of each array into the block's memory.
StagedLoops::Stretch StagedLoops::load_stretch(ir::ValueId index, const std::vector<std::uint32_t>& arrays,
                                               Value* from, std::uint32_t length) {
  Stretch stretch;
  stretch.index = index;
  const ThreadModel& threads = *device_.threads();
  const std::uint32_t together = threads.lanes();
  Value* thread = threads.thread(b_);
  Value* lane = b_.CreateZExt(b_.CreateAnd(thread, i32(together - 1)), b_.getInt64Ty());
  Value* group =
      b_.CreateZExt(b_.CreateLShr(thread, std::uint64_t(std::countr_zero(together))), b_.getInt64Ty());
  Value* group_memory = b_.CreateInBoundsGEP(b_.getInt8Ty(), memory(), b_.CreateMul(group, i64(stage_bytes)));
  std::uint64_t offset = 0;
  threads.barrier_of_lanes(b_);  // all lanes have read the previous stretch
  for (const std::uint32_t array : arrays) {
    const ElementType& element = kernel_.parameters.at(array).element;
    llvm::Type* type = llvm::ArrayType::get(memory_type(context_, element.scalar), element.components());
    Value* own = b_.CreateInBoundsGEP(b_.getInt8Ty(), group_memory, i64(offset));
    offset += std::uint64_t{length} * element.size();
    const auto copy = [&](Value* k) {
      for (std::uint32_t c = 0; c < element.components(); ++c) {
        Value* source =
            b_.CreateInBoundsGEP(type, f_.arguments.array(array), {b_.CreateNSWAdd(from, k), i64(c)});
        Value* scalar = b_.CreateAlignedLoad(memory_type(context_, element.scalar), source,
                                             llvm::Align(size_of(element.scalar)));
        b_.CreateAlignedStore(scalar, b_.CreateInBoundsGEP(type, own, {k, i64(c)}),
                              llvm::Align(size_of(element.scalar)));
      }
    };
    if (length < together) {  // the other threads load no element
      llvm::BasicBlock* some = new_block("stage");
      llvm::BasicBlock* done = new_block("stage.done");
      b_.CreateCondBr(b_.CreateICmpULT(lane, i64(length)), some, done);
      b_.SetInsertPoint(some);
      copy(lane);
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
    } else {
      for (std::uint32_t first = 0; first < length; first += together) copy(b_.CreateAdd(lane, i64(first)));
    }
    stretch.arrays[array] = own;
  }
  threads.barrier_of_lanes(b_);
  return stretch;
}

Value* StagedLoops::address(const ir::Statement& load) {
  if (load.operands.size() != 1) return nullptr;
  // Each loop has a separate index, which identifies its stretch.
  const auto of_loop = std::find_if(stretches_.begin(), stretches_.end(), [&](const Stretch& stretch) {
    return stretch.index == load.operands[0];
  });
  if (of_loop == stretches_.end()) return nullptr;
  const auto found = of_loop->arrays.find(load.index);
  if (found == of_loop->arrays.end()) return nullptr;
  const ElementType& element = kernel_.parameters.at(load.index).element;
  llvm::Type* type = llvm::ArrayType::get(memory_type(context_, element.scalar), element.components());
  return b_.CreateInBoundsGEP(type, found->second, {of_loop->place, i64(load.component)});
}

}  // namespace weir::codegen
