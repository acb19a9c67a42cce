// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "isa/instruction.hpp"

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

}  // namespace weir::hipsim
