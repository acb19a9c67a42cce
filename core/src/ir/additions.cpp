// SPDX-License-Identifier: Apache-2.0
#include "ir/additions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
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

/// Integers whose computation reads no memory.
bool is_index_operation(const Statement& s) {
  switch (s.op) {
    case Op::constant:
    case Op::argument:
    case Op::extent:
    case Op::cast:
    case Op::add:
    case Op::sub:
    case Op::mul:
      return true;
    default:
      return false;
  }
}

class LoopBody {
 public:
  explicit LoopBody(const Block& body) { look_at(body); }

  std::vector<Sum> sums(const Kernel& kernel) const {
    std::set<std::uint32_t> accessed = accessed_;
    for (const Statement* s : additions_)
      if (s->result != no_value && used_.contains(s->result)) accessed.insert(s->index);
    std::vector<Sum> found;
    for (const Statement* s : additions_) {
      const ScalarType type = kernel.parameters.at(s->index).element.scalar;
      if (accessed.contains(s->index) || (type != ScalarType::f32 && type != ScalarType::f64)) continue;
      Sum sum{s, {}};
      std::set<ValueId> known;
      const bool uniform = std::all_of(s->operands.begin(), s->operands.end() - 1,
                                       [&](ValueId index) { return compute(index, sum.indices, known); });
      if (uniform) found.push_back(std::move(sum));
    }
    return found;
  }

 private:
  void look_at(const Block& block) {
    inside_.insert(block.arguments.begin(), block.arguments.end());
    for (const Statement& s : block.statements) {
      used_.insert(s.operands.begin(), s.operands.end());
      if (s.result != no_value) {
        inside_.insert(s.result);
        definitions_.emplace(s.result, &s);
      }
      const auto kind = static_cast<AtomicKind>(s.immediate);
      if (s.op == Op::atomic && (kind == AtomicKind::add || kind == AtomicKind::sub))
        additions_.push_back(&s);
      else if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic)
        accessed_.insert(s.index);
      for (const Block& body : s.bodies) look_at(body);
    }
  }

  /// Whether a value is equal in all iterations; appends the statements of the loop that compute it.
  bool compute(ValueId id, std::vector<const Statement*>& statements, std::set<ValueId>& known) const {
    if (!inside_.contains(id) || known.contains(id)) return true;
    const auto found = definitions_.find(id);
    if (found == definitions_.end() || !is_index_operation(*found->second)) return false;
    const Statement& s = *found->second;
    for (const ValueId operand : s.operands)
      if (!compute(operand, statements, known)) return false;
    statements.push_back(&s);
    known.insert(id);
    return true;
  }

  std::unordered_set<ValueId> used_, inside_;
  std::map<ValueId, const Statement*> definitions_;
  std::vector<const Statement*> additions_;
  std::set<std::uint32_t> accessed_;  ///< arrays that statements other than additions access
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

std::vector<Sum> sums_of(const Kernel& kernel, const Statement& loop) {
  if (loop.op != Op::parallel || is_group_loop(loop) || kernel.options.check_bounds) return {};
  if (counters_of(kernel, loop)) return {};
  std::vector<Sum> sums = LoopBody(loop.bodies.at(0)).sums(kernel);
  if (sums.size() > max_sums) return {};
  return sums;
}

bool has_sums(const Kernel& kernel) {
  const auto in_block = [&](const auto& self, const Block& block) -> bool {
    return std::any_of(block.statements.begin(), block.statements.end(), [&](const Statement& s) {
      if (s.op == Op::parallel) return !sums_of(kernel, s).empty();
      return std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Block& b) { return self(self, b); });
    });
  };
  return in_block(in_block, kernel.body);
}

}  // namespace weir::ir
