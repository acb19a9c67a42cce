// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/counters.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace weir::codegen {
namespace {

using ir::Op;

/// The accesses of a body to each array, and the values that it uses.
struct Uses {
  std::set<ir::ValueId> values;
  std::set<std::uint32_t> added, touched;
  std::vector<const ir::Statement*> additions;

  void look_at(const ir::Block& block) {
    for (const ir::Statement& s : block.statements) {
      values.insert(s.operands.begin(), s.operands.end());
      const bool adds = s.op == Op::atomic && static_cast<ir::AtomicKind>(s.immediate) == ir::AtomicKind::add;
      if (adds) {
        added.insert(s.index);
        additions.push_back(&s);
      } else if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic) {
        touched.insert(s.index);
      }
      for (const ir::Block& body : s.bodies) look_at(body);
    }
  }
};

}  // namespace

std::optional<std::uint32_t> counters_of(const ir::Kernel& kernel, const ir::Statement& loop) {
  Uses uses;
  uses.look_at(loop.bodies.at(0));
  if (uses.added.size() != 1 || uses.touched.contains(*uses.added.begin())) return std::nullopt;
  const ir::Parameter& array = kernel.parameters.at(*uses.added.begin());
  const bool fits = array.rank == 1 && array.element.components() == 1 &&
                    (array.element.scalar == ScalarType::i32 || array.element.scalar == ScalarType::u32);
  const bool unused = std::none_of(uses.additions.begin(), uses.additions.end(), [&](const ir::Statement* s) {
    return s->result != ir::no_value && uses.values.contains(s->result);
  });
  if (!fits || !unused) return std::nullopt;
  return *uses.added.begin();
}

}  // namespace weir::codegen
