// SPDX-License-Identifier: Apache-2.0
// The common part of GPU targets: an entry with one parameter per field of the argument block, and threads
// that share a task.
#pragma once

#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

class GpuModel : public DeviceModel, public ThreadModel {
 public:
  explicit GpuModel(const Target& target)
      : assumptions_(target.assumptions), max_block_threads_(target.max_block_threads) {}

  llvm::Function* declare_entry(llvm::Module& module, const ir::Kernel& kernel,
                                const ir::Task& task) const final;
  llvm::Value* argument(Builder& b, llvm::Function& entry, const ir::Task& task,
                        std::size_t index) const final;
  unsigned global_space() const final { return 1; }
  unsigned shared_space() const final { return 3; }
  const ThreadModel* threads() const final { return this; }
  Share share(Builder& b, llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task,
              llvm::Value* n, bool whole) const final;
  llvm::Value* has_first_block(Builder& b, llvm::Function&) const final {
    return b.CreateICmpEQ(block(b), b.getInt32(0));
  }
  Share share_of_block(Builder& b, llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task,
                       llvm::Value* n) const final;
  std::size_t vector_bytes() const final { return 0; }
  CodeObject::Entry launch_shape(const ir::Kernel& kernel, const ir::Task& task) const final;
  LaunchAssumptions assumptions() const final { return assumptions_; }
  std::uint32_t block_threads(const ir::Kernel& kernel, const ir::Task& task) const final;

  // Local arrays reserve memory for every thread that the device can run.
  std::uint64_t max_stack_bytes() const override { return 64u << 10; }
  MathOptions math_options() const override { return {}; }

 protected:
  /// Calling convention and attributes of an entry or of a function that entries call.
  virtual void mark_entry(llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task) const = 0;

 private:
  std::uint32_t threads_of(const ir::Kernel& kernel, const ir::Statement& group_loop) const;
  bool counts_privately(const ir::Kernel& kernel, const ir::Task& task) const;

  LaunchAssumptions assumptions_;
  std::uint32_t max_block_threads_;
};

}  // namespace weir::codegen
