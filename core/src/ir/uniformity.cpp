// SPDX-License-Identifier: Apache-2.0
#include "ir/groups.hpp"

namespace weir::ir {

Uniformity::Uniformity(const Statement& loop, bool check_bounds) : check_bounds_(check_bounds) {
  find(loop);
  if (faults_.empty()) return;
  varying_values_.clear();
  varying_locals_.clear();
  left_.clear();
  find_written(loop.bodies.at(0));
  loads_ = true;
  find(loop);
}

void Uniformity::find_written(const Block& block) {
  for (const Statement& s : block.statements) {
    if (s.op == Op::store || s.op == Op::atomic) written_.insert(s.index);
    for (const Block& body : s.bodies) find_written(body);
  }
}

void Uniformity::find(const Statement& loop) {
  const Block& body = loop.bodies.at(0);
  for (std::size_t d = 0; d < loop.component && d < body.arguments.size(); ++d)
    vary(body.arguments[body.arguments.size() - 1 - d]);
  // Facts only become less uniform, so this ends.
  do {
    changed_ = false;
    faults_.clear();
    some_ended_ = false;
    walk(body, nullptr);
  } while (changed_);
}

/// Some threads may have ended from here on, and in the whole outermost loop, which may come here again.
void Uniformity::end_some() {
  some_ended_ = true;
  if (!loops_.empty()) changed_ = ended_in_.insert(loops_.front()).second || changed_;
}

void Uniformity::walk(const Block& block, const Statement* cause) {
  for (const Statement& s : block.statements) statement(s, cause);
}

void Uniformity::statement(const Statement& s, const Statement* cause) {
  bool same = true;
  for (const ValueId id : s.operands) same = same && value(id);
  switch (s.op) {
    case Op::shared:
      shared_.insert(s.index);
      changed_ = varying_locals_.insert(s.index).second || changed_;
      return;
    case Op::barrier:
      if (cause != nullptr) faults_.push_back({&s, cause});
      return;
    case Op::shuffle:
    case Op::ballot:
      if (cause != nullptr) faults_.push_back({&s, cause});
      vary(s.result);
      changed_ = varying_locals_.insert(s.index).second || changed_;  // other threads read it
      return;
    case Op::load:
      if (!loads_ || !same || cause != nullptr || some_ended_ || written_.contains(s.index)) vary(s.result);
      return;
    case Op::atomic:
    case Op::shared_atomic:
      return vary(s.result);
    case Op::assert_:
      if (!check_bounds_ && (!same || cause != nullptr)) end_some();
      return;
    case Op::scratch_load:  // loops do not write there
      if (!same) vary(s.result);
      return;
    case Op::get:
      if (!same || !local(s.index)) vary(s.result);
      return;
    case Op::local:
      if (cause != nullptr) changed_ = varying_locals_.insert(s.index).second || changed_;
      return;
    case Op::set:
      if (!same || cause != nullptr) changed_ = varying_locals_.insert(s.index).second || changed_;
      return;
    case Op::yield:
      yielded_ = s.operands.empty() ? no_value : s.operands[0];
      return;
    case Op::break_:
    case Op::continue_:
      // A `continue` of the group loop ends its thread, which others need not notice.
      if (cause == nullptr) return;
      if (loops_.empty())
        end_some();
      else
        changed_ = left_.emplace(loops_.back(), cause).second || changed_;
      return;
    case Op::if_:
      for (const Block& body : s.bodies) walk(body, cause != nullptr ? cause : same ? nullptr : &s);
      return;
    case Op::for_:
    case Op::while_: {
      const auto left = left_.find(&s);
      const Statement* inner = cause != nullptr      ? cause
                               : left != left_.end() ? left->second
                               : same                ? nullptr
                                                     : &s;
      if (s.op == Op::for_ && inner != nullptr)
        for (const ValueId id : s.bodies.at(0).arguments) vary(id);
      loops_.push_back(&s);
      if (ended_in_.contains(loops_.front())) some_ended_ = true;
      for (std::size_t i = 0; i < s.bodies.size(); ++i) {
        walk(s.bodies[i], inner);
        if (s.op == Op::while_ && i == 0 && !value(yielded_))
          changed_ = left_.emplace(&s, &s).second || changed_;
      }
      loops_.pop_back();
      return;
    }
    default:
      if (s.result != no_value && !same) vary(s.result);
      return;
  }
}

}  // namespace weir::ir
