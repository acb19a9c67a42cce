// SPDX-License-Identifier: Apache-2.0
// Atomic operations on memory of the device.
#pragma once

#include <functional>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

class Atomics : private FunctionPart {
 public:
  using Kind = ir::AtomicKind;

  explicit Atomics(TaskFunction& f) : FunctionPart(f) {}
  /// Returns the old value. `expected` is for compare_exchange only.
  llvm::Value* lower(Kind kind, Type type, llvm::Value* address, llvm::Value* operand, llvm::Value* expected);
  /// One relaxed operation of the device; returns the old value.
  llvm::Value* device_atomic(llvm::AtomicRMWInst::BinOp op, Type type, llvm::Value* address,
                             llvm::Value* operand);

  /// Adds to memory that only this thread accesses; returns the old value.
  llvm::Value* private_add(Type type, llvm::Value* address, llvm::Value* operand);

 private:
  llvm::Value* read(llvm::Value* address, llvm::Type* bits);
  llvm::Value* float_atomic(Type type, llvm::Value* address,
                            const std::function<llvm::Value*(llvm::Value*)>& change);
  llvm::Value* exact_add(llvm::Value* address, llvm::Value* operand);
};

}  // namespace weir::codegen
