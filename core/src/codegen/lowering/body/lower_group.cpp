// SPDX-License-Identifier: Apache-2.0
// The threads of a group: loops where one caller runs a whole group, else the threads of a block.
#include <functional>
#include <span>

#include "codegen/lowering/body/atomics.hpp"
#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/threads/moved_in_words.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

using llvm::Value;

void BodyLowering::lower_threads(const ir::Statement& s) {
  if (device_.threads()) return lower_thread(s);
  if (s.component == 1 && s.bodies.at(0).statements.front().op == ir::Op::ballot) return lower_subgroups(s);
  const ir::Statement& loop = *it_.group;
  const std::vector<Value*> outer = it_.indices();
  std::vector<Value*> indices = outer;
  const std::size_t first = indices.size() - loop.component;
  llvm::MDNode* const outer_group = it_.access_group;
  const VectorHints hints{llvm::MDNode::getDistinct(context_, {})};
  it_.access_group = hints.group;
  const std::function<void(std::size_t, Value*)> dimension = [&](std::size_t d, Value* number) {
    if (d == loop.component) {
      it_.thread->number = number;
      it_.move_to(loop, indices);
      return lower_thread(s);
    }
    const std::uint64_t extent = ir::thread_extent(loop, d);
    counted_loop(f_, i64(0), i64(extent), hints, [&](Value* i) {
      indices[first + d] = i;
      dimension(d + 1, b_.CreateNSWAdd(b_.CreateNSWMul(number, i64(extent)), i));
    });
  };
  dimension(0, i64(0));
  it_.access_group = outer_group;
  it_.move_to(loop, outer);
}

/// A ballot, whose block only stores the result for each thread: the bits of a sub-group are computed once.
void BodyLowering::lower_subgroups(const ir::Statement& s) {
  const std::span<const ir::Statement> block(s.bodies.at(0).statements);
  const ir::Statement& ballot = block.front();
  const std::uint64_t width = ballot.immediate;
  const TaskFunction::LineScope line(f_, ballot);
  llvm::MDNode* const outer_group = it_.access_group;
  const VectorHints hints{llvm::MDNode::getDistinct(context_, {})};
  counted_loop(f_, i64(0), i64(it_.thread->count / width), {}, [&](Value* subgroup) {
    Value* first = b_.CreateNSWMul(subgroup, i64(width));
    it_.thread->number = first;
    it_.define(ballot.result, ballot.type, ballot_of_bytes(ballot));
    it_.access_group = hints.group;
    counted_loop(f_, i64(0), i64(width), hints, [&](Value* lane) {
      it_.thread->number = b_.CreateNSWAdd(first, lane);
      for (const ir::Statement& store : block.subspan(1)) lower(store);
    });
    it_.access_group = outer_group;
  });
}

void BodyLowering::lower_thread(const ir::Statement& s) {
  llvm::BasicBlock* done = new_block("thread.done");
  llvm::BasicBlock* ended = done;
  llvm::BasicBlock* const outer_end = it_.end;
  const auto mask = [&] {
    ir::Statement access{.op = ir::Op::get, .type = Type::boolean, .index = s.index};
    return local_address(access, false);
  };
  if (s.immediate != 0) {
    ended = new_block("thread.ended");
    llvm::BasicBlock* runs = new_block("thread");
    b_.CreateCondBr(load_scalar(Type::boolean, mask(), true), done, runs);
    b_.SetInsertPoint(runs);
  }
  it_.end = ended;
  it_.loops.push_back({nullptr, ended});
  lower(s.bodies.at(0));
  it_.loops.pop_back();
  it_.end = outer_end;
  jump(done);
  if (s.immediate != 0) {
    b_.SetInsertPoint(ended);
    store_scalar(Type::boolean, b_.getTrue(), mask(), true);
    jump(done);
  }
  b_.SetInsertPoint(done);
}

/// Where one caller runs all threads, split_group() has put a loop over the threads before and after it.
void BodyLowering::lower_barrier(const ir::Statement& s) {
  const ThreadModel* const threads = device_.threads();
  if (!threads || s.immediate == 1) return;
  if (s.immediate != 0 && fill(threads->lanes(), s.immediate)) return threads->barrier_of_lanes(b_);
  threads->barrier(b_);
}

Value* BodyLowering::lower_shuffle(const ir::Statement& s) {
  const Iteration::Local& local = it_.local(s.index);
  const std::uint64_t width = s.immediate;
  Value* lane = b_.CreateZExt(b_.CreateAnd(it_.value(s.operands.at(0)), i32(std::uint32_t(width - 1))),
                              b_.getInt64Ty());
  Value* from = b_.CreateOr(b_.CreateAnd(it_.thread->number, i64(~(width - 1))), lane);
  llvm::Type* type = memory_type(context_, local.type);
  if (!device_.threads())
    return load_scalar(local.type,
                       b_.CreateInBoundsGEP(type, local.address, local.threads > 1 ? from : i64(0)), true);
  Value* other = exchange(b_.CreateLoad(type, local.address), from, width);
  return local.type == Type::boolean ? b_.CreateICmpNE(other, b_.getInt8(0)) : other;
}

/// The value of thread `from` of the block, which is in the same sub-group of `width` threads.
Value* BodyLowering::exchange(Value* v, Value* from, std::uint64_t width) {
  if (width == 1) return v;
  const ThreadModel& threads = *device_.threads();
  const std::uint32_t lanes = threads.lanes();
  if (!fill(lanes, width)) return exchange_through_memory(v, from);
  Value* lane = b_.CreateAnd(b_.CreateTrunc(from, b_.getInt32Ty()), i32(lanes - 1));
  return moved_in_words(b_, v, [&](Value* word) { return threads.shuffle(b_, word, lane); });
}

/// Whether the threads of a group fill whole rows of `lanes` threads, each of which holds whole sub-groups.
bool BodyLowering::fill(std::uint32_t lanes, std::uint64_t width) const {
  return lanes >= width && it_.thread->count % lanes == 0;
}

/// One element of the block's memory for each thread.
Value* BodyLowering::exchange_memory(llvm::Type* type) {
  const std::string name =
      "_exchange" + std::to_string(type->getScalarSizeInBits()) + (type->isFloatingPointTy() ? "f" : "i");
  return f_.named_block_memory(llvm::ArrayType::get(type, it_.thread->count), name);
}

Value* BodyLowering::exchange_through_memory(Value* v, Value* from) {
  llvm::Type* type = v->getType();
  Value* memory = exchange_memory(type);
  const auto place = [&](Value* number) { return b_.CreateInBoundsGEP(type, memory, number); };
  b_.CreateStore(v, place(it_.thread->number));
  device_.threads()->barrier(b_);
  Value* other = b_.CreateLoad(type, place(from));
  device_.threads()->barrier(b_);
  return other;
}

Value* BodyLowering::lower_ballot(const ir::Statement& s) {
  if (!device_.threads()) return ballot_of_bytes(s);
  const ThreadModel& threads = *device_.threads();
  const std::uint64_t width = s.immediate;
  Value* holds = load_scalar(Type::boolean, it_.local(s.index).address, false);
  if (width == 1) return b_.CreateZExt(holds, b_.getInt32Ty());
  if (!fill(threads.ballot_lanes(), width)) return ballot_through_memory(holds, width);
  Value* bits = threads.ballot(b_, holds);
  if (width == ir::max_subgroup) return bits;
  Value* number = b_.CreateTrunc(it_.thread->number, b_.getInt32Ty());
  Value* first = b_.CreateAnd(number, i32(std::uint32_t(ir::max_subgroup - width)));
  return b_.CreateAnd(b_.CreateLShr(bits, first), i32((1u << width) - 1));
}

/// Where one caller runs all threads, the bools of a sub-group are consecutive bytes. Processors move the
/// signs of a vector's bytes to a word with one instruction.
Value* BodyLowering::ballot_of_bytes(const ir::Statement& s) {
  const Iteration::Local& local = it_.local(s.index);
  const auto width = unsigned(s.immediate);
  if (local.threads == 1) {
    const std::uint32_t all = std::uint32_t((std::uint64_t(1) << width) - 1);
    return b_.CreateSelect(load_scalar(Type::boolean, local.address, true), i32(all), i32(0));
  }
  Value* first = b_.CreateAnd(it_.thread->number, i64(~std::uint64_t(width - 1)));
  Value* address = b_.CreateInBoundsGEP(b_.getInt8Ty(), local.address, first);
  auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), width);
  Value* lanes = b_.CreateAlignedLoad(bytes, address, llvm::Align(1));
  Value* holds = b_.CreateICmpNE(lanes, llvm::Constant::getNullValue(bytes));
  // The first element of a vector becomes the highest bit on big-endian processors.
  if (f_.module.getDataLayout().isBigEndian()) holds = b_.CreateVectorReverse(holds);
  return b_.CreateZExt(b_.CreateBitCast(holds, b_.getIntNTy(width)), b_.getInt32Ty());
}

/// The threads of a sub-group set their bits in the word of its first thread. If each thread loaded the bits
/// of all, the code would be long, and the compiler of a driver may take time that grows with its square.
Value* BodyLowering::ballot_through_memory(Value* holds, std::uint64_t width) {
  llvm::Type* word = b_.getInt32Ty();
  Value* memory = exchange_memory(word);
  const auto place = [&](Value* number) { return b_.CreateInBoundsGEP(word, memory, number); };
  Value* number = it_.thread->number;
  Value* lane = b_.CreateAnd(b_.CreateTrunc(number, word), i32(std::uint32_t(width - 1)));
  Value* all = place(b_.CreateAnd(number, i64(~(width - 1))));
  b_.CreateStore(i32(0), place(number));
  device_.threads()->barrier(b_);
  Atomics(f_).device_atomic(llvm::AtomicRMWInst::Or, Type::u32, all,
                            b_.CreateShl(b_.CreateZExt(holds, word), lane));
  device_.threads()->barrier(b_);
  Value* bits = b_.CreateLoad(word, all);
  device_.threads()->barrier(b_);
  return bits;
}

}  // namespace weir::codegen
