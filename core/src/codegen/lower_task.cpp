// SPDX-License-Identifier: Apache-2.0
// The skeleton of a task: its arguments, and the loops that walk its share of the iterations.
#include <weir/error.hpp>

#include "codegen/lane_loops.hpp"
#include "codegen/lowering.hpp"

namespace weir::codegen {

using llvm::Value;

TaskLowering::TaskLowering(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                           const DeviceModel& device, DebugLines* lines)
    : module_(module),
      context_(module.getContext()),
      kernel_(kernel),
      task_(task),
      device_(device),
      lines_(lines),
      b_(context_),
      values_(task.value_count),
      types_(task.value_count, Type::boolean),
      locals_(task.local_count),
      arrays_(kernel.parameters.size()) {
  if (kernel.options.fast_math) {
    // NaN and infinity keep their meaning: kernels test for them.
    llvm::FastMathFlags flags = llvm::FastMathFlags::getFast();
    flags.setNoNaNs(false);
    flags.setNoInfs(false);
    b_.setFastMathFlags(flags);
  }
}

llvm::Function* TaskLowering::run() {
  number_sites(task_.body);
  function_ = device_.declare_entry(module_, kernel_, task_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  if (lines_) b_.SetCurrentDebugLocation(lines_->begin(*function_, task_));
  return_block_ = llvm::BasicBlock::Create(context_, "return", function_);
  iteration_end_ = return_block_;
  loop_indices_.clear();
  load_arguments();

  if (task_.kind == ir::TaskKind::reduce_final)
    lower_reduce_final();
  else if (task_.kind == ir::TaskKind::serial && device_.threads())
    stay_in_one_thread();
  if (task_.kind == ir::TaskKind::serial) lowering_.take(LoweringPath::serial);
  lower_block(task_.body);

  jump(return_block_);
  return_block_->moveAfter(&function_->back());
  b_.SetInsertPoint(return_block_);
  b_.CreateRetVoid();
  if (stack_bytes_ > device_.max_stack_bytes())
    throw Error(ErrorCode::unsupported,
                "kernel '" + kernel_.name + "': the local arrays of one iteration take " +
                    std::to_string(stack_bytes_) + " bytes, more than the " +
                    std::to_string(device_.max_stack_bytes()) +
                    " that generated code may use; make them smaller or use an array parameter");
  return function_;
}

llvm::Type* argument_type(llvm::LLVMContext& context, const ir::TaskArgument& argument, unsigned space) {
  using Kind = ir::TaskArgument::Kind;
  switch (argument.kind) {
    case Kind::extent:
    case Kind::launch_key:
      return llvm::Type::getInt64Ty(context);
    case Kind::scalar:
      return memory_type(context, argument.type);
    case Kind::site_base:
      return llvm::Type::getInt32Ty(context);
    default:
      return llvm::PointerType::get(context, space);
  }
}

void TaskLowering::load_arguments() {
  for (std::size_t i = 0; i < task_.arguments.size(); ++i) {
    using Kind = ir::TaskArgument::Kind;
    const ir::TaskArgument& argument = task_.arguments[i];
    Value* value = device_.argument(b_, *function_, task_, i);
    const std::pair<std::uint32_t, std::uint32_t> key{argument.parameter, argument.index};
    switch (argument.kind) {
      case Kind::array:
        arrays_.at(argument.parameter) = value;
        break;
      case Kind::temporaries:
        temporaries_ = value;
        break;
      case Kind::error:
        error_record_ = value;
        break;
      case Kind::extent:
        extents_[key] = value;
        break;
      case Kind::scalar:
        if (argument.type == Type::boolean) value = b_.CreateICmpNE(value, b_.getInt8(0));
        scalars_[key] = value;
        break;
      case Kind::launch_key:
        launch_key_ = value;
        break;
      case Kind::site_base:
        site_base_ = value;
        break;
    }
  }
}

TaskLowering::Space TaskLowering::space_of(const ir::Statement& loop) {
  Space space;
  for (std::size_t d = 0; d + 1 < loop.operands.size(); d += 2) {
    Value* low = value(loop.operands[d]);
    Value* high = value(loop.operands[d + 1]);
    Value* empty = b_.CreateICmpSLE(high, low);
    Value* count = b_.CreateSelect(empty, i64(0), b_.CreateSub(high, low));
    space.low.push_back(low);
    space.high.push_back(b_.CreateSelect(empty, low, high));
    space.count.push_back(count);
    space.total = space.total ? saturating_product(space.total, count) : count;
  }
  return space;
}

/// The product, or 2^63 - 1: the host refuses spaces that large where it knows them, and no one sees the end
/// of others.
Value* TaskLowering::saturating_product(Value* a, Value* b) {
  if (device_.facts().narrow) return b_.CreateMul(a, b, "", true, true);
  Value* both = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, a, b);
  Value* most = i64(~std::uint64_t{0} >> 1);
  Value* product = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateExtractValue(both, 0), most);
  return b_.CreateSelect(b_.CreateExtractValue(both, 1), most, product);
}

void TaskLowering::lower_parallel(const ir::Statement& loop) {
  if (device_.threads()) return share_among_threads(loop);
  const Space space = space_of(loop);
  const Share share = device_.share(b_, *function_, kernel_, task_, space.total, false);
  const auto iteration = [&](const std::vector<Value*>& indices) { lower_iteration(loop, indices); };
  access_group_ = llvm::MDNode::getDistinct(context_, {});
  const std::size_t widest = widest_scalar_of_lane_loop(kernel_, loop);
  lane_width_ = widest > 0 ? device_.vector_bytes() / widest : 0;
  lowering_.take(lane_width_ > 1 ? LoweringPath::lane_loop : LoweringPath::scalar_loop);
  for_each_index(space, share, iteration);
  access_group_ = nullptr;
  lane_width_ = 0;
}

void TaskLowering::lower_iteration(const ir::Statement& loop, const std::vector<Value*>& indices) {
  const ir::Block& body = loop.bodies.at(0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    values_.at(body.arguments.at(d)) = indices[d];
    types_.at(body.arguments[d]) = Type::i64;
  }
  loop_indices_ = indices;
  llvm::BasicBlock* const outer_end = iteration_end_;
  iteration_end_ = new_block("iteration.end");
  loops_.push_back({nullptr, iteration_end_});
  lower_block(body);
  loops_.pop_back();
  jump(iteration_end_);
  b_.SetInsertPoint(iteration_end_);
  iteration_end_ = outer_end;
  loop_indices_.clear();
}

// Rows are segments of consecutive iterations with the same outer indices; the inner loop over a segment is
// what LLVM vectorises.
void TaskLowering::for_each_index(const Space& space, const Share& share,
                                  const std::function<void(const std::vector<Value*>&)>& body) {
  if (space.rank() == 1) {
    Value* from = b_.CreateAdd(space.low[0], share.begin);
    Value* to = b_.CreateAdd(space.low[0], share.end);
    counted_loop(from, to, access_group_, [&](Value* i) { body({i}); });
    return;
  }
  llvm::AllocaInst* position = stack_slot(b_.getInt64Ty(), 1, "position");
  llvm::BasicBlock* some = new_block("rows");
  llvm::BasicBlock* none = new_block("rows.none");
  b_.CreateCondBr(b_.CreateICmpULT(share.begin, share.end), some, none);
  b_.SetInsertPoint(some);
  const Cursor cursor = cursor_at(space, share.begin);
  b_.CreateStore(share.begin, position);
  while_loop([&] { return b_.CreateICmpULT(b_.CreateLoad(b_.getInt64Ty(), position), share.end); },
             [&] {
               Value* at = b_.CreateLoad(b_.getInt64Ty(), position);
               Value* column = b_.CreateLoad(b_.getInt64Ty(), cursor.column);
               Value* row_left = b_.CreateSub(space.count.back(), column);
               Value* segment =
                   b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row_left, b_.CreateSub(share.end, at));
               std::vector<Value*> indices = row_of(cursor);
               Value* from = b_.CreateAdd(space.low.back(), column);
               indices.push_back(nullptr);
               counted_loop(from, b_.CreateAdd(from, segment), access_group_, [&](Value* i) {
                 indices.back() = i;
                 body(indices);
               });
               advance(space, cursor, segment);
               b_.CreateStore(b_.CreateAdd(at, segment), position);
             });
  jump(none);
  b_.SetInsertPoint(none);
}

/// The caller has made sure that the space is not empty.
TaskLowering::Cursor TaskLowering::cursor_at(const Space& space, Value* position) {
  Cursor cursor;
  cursor.column = stack_slot(b_.getInt64Ty(), 1, "column");
  b_.CreateStore(space.rank() == 1 ? position : b_.CreateURem(position, space.count.back()), cursor.column);
  Value* rest = space.rank() == 1 ? nullptr : b_.CreateUDiv(position, space.count.back());
  cursor.outer.resize(space.rank() - 1);
  for (std::size_t d = space.rank() - 1; d-- > 0;) {
    Value* within = d == 0 ? rest : b_.CreateURem(rest, space.count[d]);
    cursor.outer[d] = stack_slot(b_.getInt64Ty(), 1, "row");
    b_.CreateStore(b_.CreateAdd(space.low[d], within), cursor.outer[d]);
    if (d > 0) rest = b_.CreateUDiv(rest, space.count[d]);
  }
  return cursor;
}

std::vector<Value*> TaskLowering::row_of(const Cursor& cursor) {
  std::vector<Value*> indices;
  for (llvm::AllocaInst* slot : cursor.outer) indices.push_back(b_.CreateLoad(b_.getInt64Ty(), slot));
  return indices;
}

/// Moves a cursor forward within its row, or to the start of the next row when that ends it.
void TaskLowering::advance(const Space& space, const Cursor& cursor, Value* by) {
  Value* column = b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), cursor.column), by);
  if (space.rank() == 1) {
    b_.CreateStore(column, cursor.column);
    return;
  }
  Value* carry = b_.CreateICmpEQ(column, space.count.back());
  b_.CreateStore(b_.CreateSelect(carry, i64(0), column), cursor.column);
  for (std::size_t d = cursor.outer.size(); d-- > 0;) {
    Value* next =
        b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), cursor.outer[d]), b_.CreateZExt(carry, b_.getInt64Ty()));
    carry = d == 0 ? nullptr : b_.CreateICmpEQ(next, space.high[d]);
    b_.CreateStore(carry ? b_.CreateSelect(carry, space.low[d], next) : next, cursor.outer[d]);
  }
}

namespace {

/// How many vectors a loop should compute side by side with so many long chains of dependent operations in
/// each: one chain after the other leaves arithmetic units idle, because a processor looks ahead at about 100
/// operations that wait. 1 is what LLVM chooses for loops that long.
unsigned vectors_side_by_side(unsigned chains) {
  return chains == 0 ? 1 : std::max(1u, 4 / chains);
}

}  // namespace

void TaskLowering::counted_loop(Value* from, Value* to, llvm::MDNode* group,
                                const std::function<void(Value*)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* done = new_block("loop.done");
  b_.CreateCondBr(b_.CreateICmpSLT(from, to), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(from, before);
  const unsigned chains_before = long_chains_;
  body(i);
  const unsigned side_by_side = vectors_side_by_side(long_chains_ - chains_before);
  Value* next = b_.CreateNSWAdd(i, i64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* latch = b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, done);
  if (group) {
    llvm::Metadata* parallel[] = {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), group};
    llvm::SmallVector<llvm::Metadata*> parts{nullptr, llvm::MDNode::get(context_, parallel)};
    const auto property = [&](const char* name, llvm::Constant* v) {
      parts.push_back(llvm::MDNode::get(
          context_, {llvm::MDString::get(context_, name), llvm::ConstantAsMetadata::get(v)}));
    };
    if (lane_width_ > 1) {
      property("llvm.loop.vectorize.enable", b_.getTrue());
      property("llvm.loop.vectorize.width", i32(std::uint32_t(lane_width_)));
    } else if (side_by_side > 1 && device_.vector_bytes() > 0 && !llvm::isa<llvm::Constant>(to)) {
      property("llvm.loop.interleave.count", i32(side_by_side));
    }
    llvm::MDNode* id = llvm::MDNode::getDistinct(context_, parts);
    id->replaceOperandWith(0, id);
    latch->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
  b_.SetInsertPoint(done);
}

void TaskLowering::while_loop(const std::function<Value*()>& condition, const std::function<void()>& body) {
  llvm::BasicBlock* head = new_block("while");
  llvm::BasicBlock* inside = new_block("while.body");
  llvm::BasicBlock* done = new_block("while.done");
  jump(head);
  b_.SetInsertPoint(head);
  b_.CreateCondBr(condition(), inside, done);
  b_.SetInsertPoint(inside);
  body();
  jump(head);
  b_.SetInsertPoint(done);
}

}  // namespace weir::codegen
