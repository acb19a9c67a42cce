// SPDX-License-Identifier: Apache-2.0
// The interface of devices whose blocks are many threads that run together.
#pragma once

#include "codegen/targets/device_model.hpp"

namespace weir::codegen {

class ThreadModel {
 public:
  virtual ~ThreadModel() = default;

  /// The thread's number in its block, the block's number, and the number of blocks; i32. Blocks have one
  /// dimension.
  virtual llvm::Value* thread(Builder& b) const = 0;
  virtual llvm::Value* block(Builder& b) const = 0;
  virtual llvm::Value* grid(Builder& b, std::uint32_t block_threads) const = 0;
  /// Threads of a block that runs the task.
  virtual std::uint32_t block_threads(const ir::Kernel& kernel, const ir::Task& task) const = 0;

  /// The number of threads that exchange values without memory: a power of two, at least 32, or 1. With 1,
  /// all values go through the block's memory, and shuffle(), shuffle_down() and barrier_of_lanes() are not
  /// called.
  virtual std::uint32_t lanes() const = 0;
  /// The i32 of lane `lane`, a number below lanes(). All lanes must call it.
  virtual llvm::Value* shuffle(Builder& b, llvm::Value* v, llvm::Value* lane) const = 0;
  /// The i32 of the lane `by` positions higher; unspecified past the last lane. All lanes must call it.
  virtual llvm::Value* shuffle_down(Builder& b, llvm::Value* v, std::uint32_t by) const = 0;
  /// A block may use ballot() if this number divides its threads: a multiple of 32, or 1 if ballots go
  /// through the block's memory.
  virtual std::uint32_t ballot_lanes() const { return lanes(); }
  /// i32: bit l is the i1 `holds` of thread l of the thread's row of 32 threads with consecutive numbers. All
  /// threads of the row must call it.
  virtual llvm::Value* ballot(Builder& b, llvm::Value* holds) const = 0;
  /// Waits for all threads of the block, and makes their writes to the block's memory visible.
  virtual void barrier(Builder& b) const = 0;
  /// A barrier for the lanes that run together.
  virtual void barrier_of_lanes(Builder& b) const = 0;
  /// Whether a fence of one thread, between two barriers of its block, orders the accesses of all threads of
  /// the block for the device. Otherwise each thread needs a fence.
  virtual bool fences_for_block() const { return false; }
  /// Lets other waves run while this thread waits for another block.
  virtual void pause(Builder&) const {}
  /// The i32 or i64 `v`, unknown to LLVM's passes: no sum or product of it becomes a variable of a loop.
  virtual llvm::Value* opaque(Builder&, llvm::Value* v) const { return v; }
  /// The address space of the block's memory.
  virtual unsigned shared_space() const = 0;
  /// Whether values of 8, 16 and at least 32 bits can take the same place in the block's memory, one after
  /// the other.
  virtual bool overlays_block_memory() const { return true; }
  /// How many counters of 4 bytes a block may have, such that as many blocks run as without them.
  virtual std::uint32_t max_private_counters() const { return 4096; }
};

}  // namespace weir::codegen
