// SPDX-License-Identifier: Apache-2.0
// What differs between kinds of device: how an entry is called, which iterations a caller of it runs, and how
// an object becomes a code object. Everything else in code generation is the same for all of them.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "codegen/math_library.hpp"

namespace weir::codegen {

using Builder = llvm::IRBuilder<>;

/// Which of the iterations [0, n) one caller runs: begin, begin + step, ... below end. All are i64.
struct Share {
  llvm::Value* begin;
  llvm::Value* end;
  llvm::Value* step;
};

class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  virtual std::unique_ptr<llvm::TargetMachine> make_machine() const = 0;
  /// The target's full name, for CodeObject::target.
  virtual std::string target_name() const = 0;
  /// Declares the exported entry of a task, with its calling convention and attributes.
  virtual llvm::Function* declare_entry(llvm::Module& module, const ir::Task& task) const = 0;
  /// The address of the argument block in an entry.
  virtual llvm::Value* argument_block(llvm::Function& entry) const = 0;
  /// This caller's share of n iterations, or of n chunks when they are `whole` (each is much work).
  virtual Share share(Builder& b, llvm::Function& entry, llvm::Value* n, bool whole) const = 0;
  /// True when a share is consecutive and one caller runs it alone, so that rows become inner loops.
  virtual bool consecutive() const = 0;
  /// Bytes of the vectors that one thread computes with; 0 when it has none.
  virtual std::size_t vector_bytes() const = 0;
  /// Threads per block to launch a task with.
  virtual std::array<std::uint32_t, 3> block(const ir::Task& task) const = 0;
  /// What the math library may rely on.
  virtual MathOptions math_options() const = 0;
  /// Makes a code object of one relocatable object.
  virtual std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& object) const = 0;
};

/// The model for a target's format. Throws Error{unsupported} when no part of this build generates it.
std::unique_ptr<DeviceModel> make_device_model(const Target& target);
std::unique_ptr<DeviceModel> make_host_model(const Target& target);

}  // namespace weir::codegen
