// SPDX-License-Identifier: Apache-2.0
// Recognises statements that print.
#pragma once

#include <algorithm>

#include "ir/ir.hpp"

namespace weir::ir {

inline bool prints(const Block& block) noexcept;
/// True if the statement or one inside it is a print.
inline bool prints(const Statement& s) noexcept {
  return s.op == Op::print ||
         std::any_of(s.bodies.begin(), s.bodies.end(), [](const Block& body) { return prints(body); });
}
inline bool prints(const Block& block) noexcept {
  return std::any_of(block.statements.begin(), block.statements.end(),
                     [](const Statement& s) { return prints(s); });
}

/// True for an `if` that prints and has no other effect: its branches compute values, read, and print.
inline bool only_prints(const Statement& s) noexcept {
  if (s.op != Op::if_ || !prints(s)) return false;
  return std::all_of(s.bodies.begin(), s.bodies.end(), [](const Block& body) {
    return std::all_of(body.statements.begin(), body.statements.end(), [](const Statement& inner) {
      return inner.op <= Op::load || inner.op == Op::get || inner.op == Op::print || only_prints(inner);
    });
  });
}

}  // namespace weir::ir
