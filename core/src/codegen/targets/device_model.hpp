// SPDX-License-Identifier: Apache-2.0
// Differences between kinds of devices: the calling convention of entries, the share of iterations of a
// caller, and the conversion of an object to a code object. All other parts of code generation are the same
// for all devices.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "codegen/math/math_library.hpp"

namespace weir::codegen {

using Builder = llvm::IRBuilder<>;

class ThreadModel;

/// The share of the iterations [0, n) that one caller runs: begin, begin + step, ... below end. All are i64.
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
  /// CodeObject::needs.
  virtual std::string needs() const { return {}; }
  /// Declares the exported entry of a task, with its calling convention and attributes.
  virtual llvm::Function* declare_entry(llvm::Module& module, const ir::Kernel& kernel,
                                        const ir::Task& task) const = 0;
  /// The value of task.arguments[index] in an entry, in the memory type; addresses are of global_space().
  virtual llvm::Value* argument(Builder& b, llvm::Function& entry, const ir::Task& task,
                                std::size_t index) const = 0;
  /// The address space of arrays.
  virtual unsigned global_space() const { return 0; }
  /// The scope of memory operations that the threads of one device perform together.
  virtual llvm::SyncScope::ID device_scope(llvm::LLVMContext&) const { return llvm::SyncScope::System; }
  /// Whether atomic additions of f32 treat subnormal numbers as 0.
  virtual bool adds_flush() const { return false; }
  /// Whether floats of a type are added atomically by an instruction, or by what LLVM makes of one; in memory
  /// of a block or in other memory.
  virtual bool adds_floats(ScalarType type, bool /*in_block*/) const { return type != ScalarType::f16; }
  /// Allows an atomic operation to be an instruction of the device where the launch's assumptions permit it.
  virtual void mark_atomic(llvm::AtomicRMWInst&) const {}
  /// The maximum size of the local arrays of one iteration.
  virtual std::uint64_t max_stack_bytes() const = 0;
  /// The part of the model that distributes a task over many threads; null when one caller runs a consecutive
  /// share alone, so that rows become inner loops.
  virtual const ThreadModel* threads() const { return nullptr; }
  /// One caller's share of n iterations, or of n chunks when they are `whole` (each is expensive).
  virtual Share share(Builder& b, llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task,
                      llvm::Value* n, bool whole) const = 0;
  /// Whether the caller runs the first block of a launch.
  virtual llvm::Value* has_first_block(Builder& b, llvm::Function& entry) const = 0;
  /// The share of n parts of a task that one block of a launch runs, with all its threads.
  virtual Share share_of_block(Builder& b, llvm::Function& entry, const ir::Kernel& kernel,
                               const ir::Task& task, llvm::Value* n) const = 0;
  /// Bytes of the vectors that one thread computes with; 0 when it has none.
  virtual std::size_t vector_bytes() const = 0;
  /// Whether a loop that stores or copies numbers may become a fill or a copy of bytes.
  virtual bool takes_fills() const { return true; }
  /// Whether LLVM's loop strength reduction improves code that contains the entries of `tasks`. It makes
  /// pointers that advance out of products of indices.
  virtual bool reduces_strength(std::span<const ir::Task* const> /*tasks*/) const { return true; }
  /// The launch parameters of a task: all members of an entry except its symbol.
  virtual CodeObject::Entry launch_shape(const ir::Kernel& kernel, const ir::Task& task) const = 0;
  /// The proven properties of a launch, on which the code may rely.
  virtual LaunchAssumptions assumptions() const { return {}; }
  /// A function in fast mode, where the device has a better one than the library; else null.
  virtual llvm::Value* fast_math(Builder&, ir::MathFunction, llvm::ArrayRef<llvm::Value*>) const {
    return nullptr;
  }
  /// The target properties on which the math library may rely.
  virtual MathOptions math_options() const = 0;
  /// Rewrites optimised code that LLVM's back end or the vendor's compiler miscompiles.
  virtual void work_around(llvm::Module&, llvm::ModuleAnalysisManager&) const {}
  /// The same for one function; returns whether it changed anything. Called before work_around(), and again
  /// by the back end just before it selects instructions, because passes of the back end put values that were
  /// stored in place of loads. So what it has rewritten must not need it again.
  virtual bool work_around_in(llvm::Function&) const { return false; }
  /// Whether code objects carry source lines as DWARF.
  virtual bool has_lines() const { return false; }
  /// The code object of an optimised module, for formats that LLVM does not write; empty for the others,
  /// whose code object is from link().
  virtual std::vector<std::byte> translate(llvm::Module&) const { return {}; }
  /// The text of a result of translate().
  virtual std::string disassemble(const std::vector<std::byte>&) const { return ""; }
  /// Throws Error{unsupported} for a task that needs a missing feature of the device.
  virtual void check(const ir::Kernel&, const ir::Task&) const {}
  /// The file type that LLVM writes for link().
  virtual llvm::CodeGenFileType object_type() const { return llvm::CodeGenFileType::ObjectFile; }
  /// Creates a code object from one file of object_type().
  virtual std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& object) const = 0;
};

/// The model for a target's format. Throws Error{unsupported} when no part of this build generates it.
std::unique_ptr<DeviceModel> make_device_model(const Target& target);
std::unique_ptr<DeviceModel> make_host_model(const Target& target);
std::unique_ptr<DeviceModel> make_ptx_model(const Target& target);
std::unique_ptr<DeviceModel> make_amdgpu_model(const Target& target);
std::unique_ptr<DeviceModel> make_spirv_model(const Target& target);

}  // namespace weir::codegen
