// SPDX-License-Identifier: Apache-2.0
#include "ir/counters.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/groups.hpp"

namespace weir::ir {
namespace {

/// The accesses of a body to each array, and the values that it uses.
struct Uses {
  std::set<ValueId> values;
  std::set<std::uint32_t> added, touched;
  std::vector<const Statement*> additions;

  void look_at(const Block& block) {
    for (const Statement& s : block.statements) {
      values.insert(s.operands.begin(), s.operands.end());
      const bool adds = s.op == Op::atomic && static_cast<AtomicKind>(s.immediate) == AtomicKind::add;
      if (adds) {
        added.insert(s.index);
        additions.push_back(&s);
      } else if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic) {
        touched.insert(s.index);
      }
      for (const Block& body : s.bodies) look_at(body);
    }
  }
};

}  // namespace

std::optional<std::uint32_t> counters_of(const Kernel& kernel, const Statement& loop) {
  if (is_group_loop(loop)) return std::nullopt;
  Uses uses;
  uses.look_at(loop.bodies.at(0));
  if (uses.added.size() != 1 || uses.touched.contains(*uses.added.begin())) return std::nullopt;
  const Parameter& array = kernel.parameters.at(*uses.added.begin());
  const bool fits = array.rank == 1 && array.element.components() == 1 &&
                    (array.element.scalar == ScalarType::i32 || array.element.scalar == ScalarType::u32);
  const bool unused = std::none_of(uses.additions.begin(), uses.additions.end(), [&](const Statement* s) {
    return s->result != no_value && uses.values.contains(s->result);
  });
  if (!fits || !unused) return std::nullopt;
  return *uses.added.begin();
}

bool has_counters(const Kernel& kernel) {
  const auto in_block = [&](const auto& self, const Block& block) -> bool {
    return std::any_of(block.statements.begin(), block.statements.end(), [&](const Statement& s) {
      if (s.op == Op::parallel) return counters_of(kernel, s).has_value();
      return std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Block& b) { return self(self, b); });
    });
  };
  return in_block(in_block, kernel.body);
}

}  // namespace weir::ir
