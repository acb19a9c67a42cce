// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/groups.hpp"
#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;

void find_reads(const Block& block, std::vector<TopLocal>& locals) {
  for (const Statement& s : block.statements) {
    if (s.op == Op::get || s.op == Op::shared_atomic || ir::is_exchange(s.op)) locals[s.index].read = true;
    for (const Block& body : s.bodies) find_reads(body, locals);
  }
}

class Effects {
 public:
  explicit Effects(Draft& draft) : draft_(draft), checked_(draft.kernel->options.check_bounds) {}

  bool block(const Block& block) {
    bool any = false;
    for (const Statement& s : block.statements) any = statement(s) || any;
    return any;
  }

 private:
  bool statement(const Statement& s) {
    bool effect = own(s);
    for (const Block& body : s.bodies) effect = block(body) || effect;
    if (effect) draft_.effects.insert(&s);
    return effect;
  }

  // With bounds checks, an index outside its array fails the launch, even if the value is unused.
  bool own(const Statement& s) const {
    switch (s.op) {
      case Op::store:
      case Op::atomic:
      case Op::assert_:
      case Op::print:
      case Op::barrier:
      case Op::shared_atomic:
        return true;
      case Op::load:
        return checked_;
      case Op::get:
        return checked_ && !s.operands.empty();
      case Op::set:
        return draft_.locals[s.index].read || (checked_ && s.operands.size() > 1);
      case Op::local:
      case Op::shared:
        return draft_.locals[s.index].read || checked_;
      default:
        return false;
    }
  }

  Draft& draft_;
  bool checked_;
};

}  // namespace

bool is_pure(Op op) noexcept {
  return op <= Op::philox;
}

bool can_fail(const Statement& s, const ir::Options& options) noexcept {
  if (s.op == Op::assert_) return true;
  if (options.check_bounds) {
    if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic || s.op == Op::shared_atomic) return true;
    if (s.op == Op::get && !s.operands.empty()) return true;
    if (s.op == Op::set && s.operands.size() > 1) return true;
  }
  return std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Block& body) {
    return std::any_of(body.statements.begin(), body.statements.end(),
                       [&](const Statement& inner) { return can_fail(inner, options); });
  });
}

void find_effects(Draft& draft) {
  draft.locals.resize(draft.kernel->local_count);
  find_reads(draft.kernel->body, draft.locals);
  Effects(draft).block(draft.kernel->body);
}

}  // namespace weir::passes
