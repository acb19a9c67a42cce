// SPDX-License-Identifier: Apache-2.0
// The values of a task's argument block. Each is loaded once, in the entry block.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"
#include "ir/verifier.hpp"

namespace weir::codegen {

/// Every function that returns a value throws Error{compile} when the task does not pass it.
class TaskArguments {
 public:
  TaskArguments(const ir::Kernel& kernel, const ir::Task& task);
  /// Appends the loads to the entry of the task.
  void load(Builder& b, llvm::Function& entry, const DeviceModel& device);

  llvm::Value* array(std::uint32_t parameter) const;
  /// Tells LLVM that `access`, a load or a store of an element of the array, conflicts with no access to
  /// another array, where the launch's assumptions permit it. LLVM then reads an element once although the
  /// iteration stores between two reads.
  void mark_separate(std::uint32_t parameter, llvm::Instruction& access) const;
  /// i64.
  llvm::Value* extent(std::uint32_t parameter, std::uint32_t dimension) const;
  bool has_extent(std::uint32_t parameter, std::uint32_t dimension) const;
  /// In the register type.
  llvm::Value* scalar(std::uint32_t parameter, std::uint32_t component) const;
  llvm::Value* scratch() const;
  llvm::Value* launch_key() const;
  /// i64.
  llvm::Value* repetition(std::uint32_t depth) const;
  llvm::Value* error_record() const;
  /// The number of this task's first site, i32.
  llvm::Value* site_base() const;
  llvm::Value* print_buffer() const;
  /// The number of the launch, i32.
  llvm::Value* launch() const;
  /// The word on which the blocks of a cooperative task wait for each other.
  llvm::Value* barrier() const;

 private:
  using ByPart = std::map<std::pair<std::uint32_t, std::uint32_t>, llvm::Value*>;
  llvm::Value* expect(llvm::Value* value, const std::string& what) const;

  void make_scopes(const llvm::Function& entry);

  /// The alias scope of an array, and those of all others.
  struct Scopes {
    llvm::MDNode* own = nullptr;
    llvm::MDNode* others = nullptr;
  };

  const ir::Kernel& kernel_;
  const ir::Task& task_;
  std::vector<llvm::Value*> arrays_;  // by parameter
  std::vector<Scopes> scopes_;        // by parameter; empty where arrays may share memory
  ByPart extents_, scalars_;          // by parameter, and by dimension or component
  llvm::Value* scratch_ = nullptr;
  llvm::Value* error_record_ = nullptr;
  std::array<llvm::Value*, ir::max_repeats> repetitions_{};  // by depth
  llvm::Value* launch_key_ = nullptr;
  llvm::Value* site_base_ = nullptr;
  llvm::Value* print_buffer_ = nullptr;
  llvm::Value* launch_ = nullptr;
  llvm::Value* barrier_ = nullptr;
};

}  // namespace weir::codegen
