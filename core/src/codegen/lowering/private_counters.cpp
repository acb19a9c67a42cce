// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/atomics.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// Of a CPU's thread, 4 bytes each.
constexpr std::uint32_t max_cpu_counters = 4096;

class PrivateCounters : private FunctionPart {
 public:
  PrivateCounters(TaskFunction& f, std::uint32_t array)
      : FunctionPart(f), array_(array), count_(f.arguments.extent(array, 0)) {
    llvm::Type* counters = llvm::ArrayType::get(type_, max_count_);
    counters_ = threads_ ? static_cast<Value*>(f.block_memory(counters, "_counters"))
                         : stack_slot(counters, 1, "counters");
  }

  void run(const Iteration& around, const Space& space, const std::function<void(const Iteration&)>& walk) {
    llvm::BasicBlock* clear = new_block("counters");
    llvm::BasicBlock* direct = new_block("counters.direct");
    llvm::BasicBlock* done = new_block("counters.done");
    Value* pays = b_.CreateAnd(b_.CreateICmpULE(count_, i64(max_count_)), saves_additions(space));
    b_.CreateCondBr(pays, clear, direct);

    b_.SetInsertPoint(clear);
    for_each([&](Value* k) { b_.CreateStore(i32(0), address(counters_, k)); });
    barrier();
    walk(Iteration(around, array_, counters_));
    barrier();
    for_each([&](Value* k) { add_to_array(k); });
    jump(done);

    b_.SetInsertPoint(direct);
    walk(around);
    jump(done);
    b_.SetInsertPoint(done);
  }

 private:
  /// Whether the array takes fewer additions of counts than the loop has iterations. CPUs need a margin,
  /// because their atomic additions cost little while one core has the cache line.
  Value* saves_additions(const Space& space) {
    if (!threads_) {
      const Share share = device_.share(b_, *f_.function, kernel_, task_, space.total, false);
      return b_.CreateICmpULE(b_.CreateMul(count_, i64(2)), b_.CreateSub(share.end, share.begin));
    }
    Value* grid = b_.CreateZExt(threads_->grid(b_, threads_->block_threads(kernel_, task_)), b_.getInt64Ty());
    return b_.CreateICmpULE(b_.CreateMul(grid, count_), space.total);
  }

  /// The numbers of the counters, shared among the threads of a block.
  void for_each(const std::function<void(Value*)>& body) {
    llvm::Type* i64_type = b_.getInt64Ty();
    llvm::AllocaInst* at = stack_slot(i64_type, 1, "counter");
    b_.CreateStore(threads_ ? b_.CreateZExt(threads_->thread(b_), i64_type) : i64(0), at);
    const std::uint64_t step = threads_ ? threads_->block_threads(kernel_, task_) : 1;
    while_loop(
        f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, at), count_); },
        [&] {
          Value* k = b_.CreateLoad(i64_type, at);
          body(k);
          b_.CreateStore(b_.CreateAdd(k, i64(step)), at);
        });
  }

  void add_to_array(Value* k) {
    Value* counted = b_.CreateLoad(type_, address(counters_, k));
    llvm::BasicBlock* some = new_block("counters.some");
    llvm::BasicBlock* none = new_block("counters.none");
    b_.CreateCondBr(b_.CreateICmpNE(counted, i32(0)), some, none);
    b_.SetInsertPoint(some);
    Atomics(f_).device_atomic(llvm::AtomicRMWInst::Add, ScalarType::u32,
                              address(f_.arguments.array(array_), k), counted);
    b_.CreateBr(none);
    b_.SetInsertPoint(none);
  }

  Value* address(Value* base, Value* k) { return b_.CreateInBoundsGEP(type_, base, k); }
  void barrier() {
    if (threads_) threads_->barrier(b_);
  }

  const std::uint32_t array_;
  const ThreadModel* const threads_ = device_.threads();
  const std::uint32_t max_count_ = threads_ ? threads_->max_private_counters() : max_cpu_counters;
  llvm::Type* const type_ = b_.getInt32Ty();
  Value* const count_;
  Value* counters_;
};

}  // namespace

void count_privately(TaskFunction& f, const Iteration& around, const Space& space, std::uint32_t array,
                     const std::function<void(const Iteration&)>& walk) {
  if (!f.arguments.has_extent(array, 0))
    return walk(around);  // the number of counters is no argument of the task
  f.lowering.take(LoweringPath::private_counters);
  f.lowering.take(LoweringPath::direct_counters);
  PrivateCounters(f, array).run(around, space, walk);
}

}  // namespace weir::codegen
