// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "isa/instruction.hpp"

namespace weir::hipsim {

/// What an instruction does and how its operands are read from its text.
struct Operation {
  Handler run = nullptr;
  /// How many of the operands are sources; those before them are results. -1: all stand in Instruction::src,
  /// in the order of the text, as memory instructions want them.
  int inputs = -1;
  FloatGroup group = FloatGroup::none;
  bool half = false;  ///< gives a 16-bit result
};

/// Collects operations by the name that the assembler gives them, without the suffix of the encoding.
class OperationTable {
 public:
  virtual ~OperationTable() = default;
  virtual void add(std::string_view name, Operation operation) = 0;
  /// The same under the names that generations gave it.
  void add(std::initializer_list<std::string_view> names, const Operation& operation) {
    for (std::string_view name : names) add(name, operation);
  }
};

/// The operation of a mnemonic such as "v_add_f32", or null if the simulator does not know it.
const Operation* find_operation(std::string_view mnemonic);

/// A scalar or memory operation, whose handler looks at its operands itself.
inline Operation scalar(int inputs, Handler run) {
  return Operation{run, inputs};
}
inline Operation memory(Handler run) {
  return Operation{run, -1};
}

}  // namespace weir::hipsim
