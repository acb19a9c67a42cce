// SPDX-License-Identifier: Apache-2.0
// Atomic operations on memory of the device.
//
// GPUs update aligned words of 4 and 8 bytes. An operation on 1 or 2 bytes of an array updates the word that
// contains them and stores its other bytes unchanged. Compare-and-swap fails if they have changed, so no
// write to a neighbour is lost. Such a word is in the array's allocation: allocations begin at and end after
// multiples of 4 bytes, and a foreign pointer's word is in its page. In memory of a block, elements of this
// size have separate words (Iteration::Local::in_words).
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
  /// Adds to a sum in a register, of the operand's type or a wider one. The result has no meaning.
  llvm::Value* register_add(llvm::AllocaInst* sum, llvm::Value* operand);

 private:
  /// The memory that an operation on an element updates: the element, or the word that contains it.
  struct Cell {
    llvm::Value* address;
    llvm::IntegerType* bits;       ///< of the memory
    llvm::Value* shift = nullptr;  ///< bits below the element in its word; null if the cell is the element
  };
  using Change = std::function<llvm::Value*(llvm::Value*)>;

  bool in_block(llvm::Value* address) const;
  Cell cell_of(Type type, llvm::Value* address);
  llvm::Value* element_in(const Cell& cell, Type type, llvm::Value* bits);
  /// The cell's bits with the element replaced.
  llvm::Value* with_element(const Cell& cell, Type type, llvm::Value* bits, llvm::Value* element);
  llvm::Value* read(const Cell& cell);
  llvm::Value* combine(ir::Op op, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare_exchange(Type type, llvm::Value* address, llvm::Value* expected, llvm::Value* desired);
  llvm::Value* update(Type type, llvm::Value* address, const Change& change);
  llvm::Value* update_bits(llvm::AtomicRMWInst::BinOp op, Type type, const Cell& cell, llvm::Value* operand);
  llvm::Value* exact_add(llvm::Value* address, llvm::Value* operand);
};

}  // namespace weir::codegen
