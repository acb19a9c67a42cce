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
#include "codegen/math/math_library.hpp"

namespace weir::codegen {

using Builder = llvm::IRBuilder<>;

class ThreadModel;

/// Which of the iterations [0, n) one caller runs: begin, begin + step, ... below end. All are i64.
struct Share {
  llvm::Value* begin;
  llvm::Value* end;
  llvm::Value* step;
};

/// The type of an argument in memory; addresses are of `space`.
llvm::Type* argument_type(llvm::LLVMContext& context, const ir::TaskArgument& argument, unsigned space);

class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  virtual std::unique_ptr<llvm::TargetMachine> make_machine() const = 0;
  /// The target's full name, for CodeObject::target.
  virtual std::string target_name() const = 0;
  /// Declares the exported entry of a task, with its calling convention and attributes.
  virtual llvm::Function* declare_entry(llvm::Module& module, const ir::Kernel& kernel,
                                        const ir::Task& task) const = 0;
  /// The value of task.arguments[index] in an entry, in the type that memory has; addresses are of
  /// global_space().
  virtual llvm::Value* argument(Builder& b, llvm::Function& entry, const ir::Task& task,
                                std::size_t index) const = 0;
  /// Where arrays lie.
  virtual unsigned global_space() const { return 0; }
  /// The scope of what the threads of one device do to memory together.
  virtual llvm::SyncScope::ID device_scope(llvm::LLVMContext&) const { return llvm::SyncScope::System; }
  /// Whether atomic additions of f32 take numbers below the normal range for 0.
  virtual bool adds_flush() const { return false; }
  /// Lets an atomic operation be an instruction of the device's where the launch's assumptions allow it.
  virtual void mark_atomic(llvm::AtomicRMWInst&) const {}
  /// What local arrays of one iteration may take.
  virtual std::uint64_t max_stack_bytes() const = 0;
  /// The part of the model that shares a task among many threads; null when one caller runs a consecutive
  /// share of it alone, so that rows become inner loops.
  virtual const ThreadModel* threads() const { return nullptr; }
  /// One caller's share of n iterations, or of n chunks when they are `whole` (each is much work).
  virtual Share share(Builder& b, llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task,
                      llvm::Value* n, bool whole) const = 0;
  /// Bytes of the vectors that one thread computes with; 0 when it has none.
  virtual std::size_t vector_bytes() const = 0;
  /// How to launch a task: all of an entry but its symbol.
  virtual CodeObject::Entry launch_shape(const ir::Kernel& kernel, const ir::Task& task) const = 0;
  /// What a launch has proven, for the code to rely on.
  virtual LaunchAssumptions assumptions() const { return {}; }
  /// A function in fast mode, where the device has something better than the library; else null.
  virtual llvm::Value* fast_math(Builder&, ir::MathFunction, llvm::ArrayRef<llvm::Value*>) const {
    return nullptr;
  }
  /// What the math library may rely on.
  virtual MathOptions math_options() const = 0;
  /// Rewrites optimised code that a compiler below, LLVM's back end or the vendor's, gets wrong. Runs last.
  virtual void work_around(llvm::Module&, llvm::ModuleAnalysisManager&) const {}
  /// Whether code objects carry source lines as DWARF.
  virtual bool has_lines() const { return false; }
  /// What LLVM writes for link().
  virtual llvm::CodeGenFileType object_type() const { return llvm::CodeGenFileType::ObjectFile; }
  /// Makes a code object of one file of object_type().
  virtual std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& object) const = 0;
};

/// The model for a target's format. Throws Error{unsupported} when no part of this build generates it.
std::unique_ptr<DeviceModel> make_device_model(const Target& target);
std::unique_ptr<DeviceModel> make_host_model(const Target& target);
std::unique_ptr<DeviceModel> make_ptx_model(const Target& target);
std::unique_ptr<DeviceModel> make_amdgpu_model(const Target& target);

}  // namespace weir::codegen
