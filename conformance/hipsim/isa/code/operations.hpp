// SPDX-License-Identifier: Apache-2.0
// The simulated operations, found by the assembler's mnemonics.
#pragma once
#include <string_view>

#include "isa/code/instruction.hpp"

namespace weir::hipsim {

/// The handler of an instruction, and how its operands are read from the text.
struct Operation {
  Handler run = nullptr;
  /// The number of sources, which follow the results in the text. -1: all operands are in Instruction::src,
  /// in the order of the text, as memory instructions require.
  int inputs = -1;
  FloatGroup group = FloatGroup::none;
  bool half = false;  ///< the result has 16 bits
};

/// Operations by the assembler's name, without the suffix of the encoding.
class OperationTable {
 public:
  virtual ~OperationTable() = default;
  virtual void add(std::string_view name, Operation operation) = 0;
  /// Adds one operation under the names of all generations.
  void add(std::initializer_list<std::string_view> names, const Operation& operation) {
    for (std::string_view name : names) add(name, operation);
  }
};

/// The operation of a mnemonic such as "v_add_f32"; null if the simulator does not support it.
const Operation* find_operation(std::string_view mnemonic);

/// A scalar or memory operation, whose handler reads its operands.
inline Operation scalar(int inputs, Handler run) {
  return Operation{run, inputs};
}
inline Operation memory(Handler run) {
  return Operation{run, -1};
}

// Each of the following functions adds one family of instructions to the table.
#define HIPSIM_VECTOR_FAMILIES                                                             \
  void define_float(OperationTable&);    /* 32-bit floating point */                       \
  void define_double(OperationTable&);   /* 64-bit floating point */                       \
  void define_half(OperationTable&);     /* 16-bit floating point and integers */          \
  void define_integer(OperationTable&);  /* 32- and 64-bit integers, shifts, bit fields */ \
  void define_bytes(OperationTable&);    /* bytes and bits within registers */             \
  void define_carry(OperationTable&);    /* carries in lane masks, selections by mask */   \
  void define_convert(OperationTable&);  /* conversions */                                 \
  void define_division(OperationTable&); /* the steps of IEEE division */                  \
  void define_compare(OperationTable&);  /* comparisons into lane masks */                 \
  void define_packed(OperationTable&);   /* two halves or two singles at once */           \
  void define_mixed(OperationTable&);    /* mixed precision and dot products */            \
  void define_later(OperationTable&);    /* what GFX950 and GFX12 added */
namespace baseline {
HIPSIM_VECTOR_FAMILIES
}
namespace avx2 {
HIPSIM_VECTOR_FAMILIES
}
void define_lanes(OperationTable&);  // between lanes, and between lanes and scalars
void define_dual(OperationTable&);   // two operations in one instruction
void define_scalar_arithmetic(OperationTable&);
void define_scalar_bits(OperationTable&);
void define_scalar_compare(OperationTable&);
void define_scalar_float(OperationTable&);
void define_scalar_half(OperationTable&);
void define_scalar_control(OperationTable&);
void define_scalar_memory(OperationTable&);
void define_global_memory(OperationTable&);  // global, flat and scratch
void define_global_atomics(OperationTable&);
void define_buffer_memory(OperationTable&);
void define_local_memory(OperationTable&);  // LDS
void define_local_atomics(OperationTable&);
}  // namespace weir::hipsim
