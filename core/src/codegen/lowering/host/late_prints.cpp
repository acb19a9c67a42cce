// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <ranges>
#include <unordered_set>
#include <vector>

#include "codegen/lowering/loop_kinds.hpp"
#include "ir/prints.hpp"

namespace weir::codegen {
namespace {

using ir::Op;

/// The body of a loop with prints.
class LatePrints {
 public:
  LatePrints(const ir::Block& body, bool no_alias) : body_(body), no_alias_(no_alias) {}

  bool possible() {
    const auto fits = [](const ir::Statement& s) { return is_allowed(s, true, false); };
    if (!ir::prints(body_) || !std::ranges::all_of(body_.statements, fits)) return false;
    do {
      changed_ = false;
      for (const ir::Statement& s : std::views::reverse(body_.statements)) find_needed(s);
    } while (changed_);
    return std::ranges::all_of(body_.statements, [&](const ir::Statement& s) { return keeps_loaded(s); });
  }

 private:
  /// Whether the statement ends no iteration and updates nothing, and prints only in the form wanted.
  static bool is_allowed(const ir::Statement& s, bool top, bool in_loop) {
    if (ir::prints(s))
      return top && ir::only_prints(s) && ir::prints(s.bodies.at(0)) != ir::prints(s.bodies.at(1));
    switch (s.op) {
      case Op::if_:
      case Op::for_:
      case Op::while_: {
        const bool inside = in_loop || s.op != Op::if_;
        return std::ranges::all_of(s.bodies, [&](const ir::Block& body) {
          return std::ranges::all_of(
              body.statements, [&](const ir::Statement& inner) { return is_allowed(inner, false, inside); });
        });
      }
      case Op::break_:
      case Op::continue_:
        return in_loop;
      case Op::store:
      case Op::local:
      case Op::get:
      case Op::set:
      case Op::yield:
        return true;
      default:
        return s.op <= Op::load;
    }
  }

  /// Finds what the prints depend on; later statements come first. Returns whether they depend on `s`.
  bool find_needed(const ir::Statement& s) {
    bool needed =
        ir::prints(s) || values_.contains(s.result) || (s.op == Op::set && locals_.contains(s.index));
    for (const ir::Block& body : std::views::reverse(s.bodies))
      for (const ir::Statement& inner : std::views::reverse(body.statements))
        needed = find_needed(inner) || needed;
    if (!needed || s.op == Op::store) return false;
    need(s);
    return true;
  }
  /// And all that is inside: what ends rounds, conditions, and more than that.
  void need(const ir::Statement& s) {
    if (s.op == Op::store || !statements_.insert(&s).second) return;
    changed_ = true;
    for (const ir::ValueId id : s.operands) values_.insert(id);
    if (s.op == Op::get) locals_.insert(s.index);
    for (const ir::Block& body : s.bodies)
      for (const ir::Statement& inner : body.statements) need(inner);
  }

  /// Whether the array elements that were needed so far are still as they were loaded.
  bool keeps_loaded(const ir::Statement& s) {
    if (s.op == Op::load && statements_.contains(&s)) loaded_.push_back(s.index);
    if (s.op == Op::store && is_loaded(s.index)) return false;
    for (const ir::Block& body : s.bodies)
      if (!std::ranges::all_of(body.statements,
                               [&](const ir::Statement& inner) { return keeps_loaded(inner); }))
        return false;
    if (s.op != Op::for_ && s.op != Op::while_) return true;
    std::vector<std::uint32_t> stored;  // before loads of the next round
    find_stored(s, stored);
    return std::ranges::none_of(stored, [&](std::uint32_t array) { return is_loaded(array); });
  }
  static void find_stored(const ir::Statement& s, std::vector<std::uint32_t>& arrays) {
    if (s.op == Op::store) arrays.push_back(s.index);
    for (const ir::Block& body : s.bodies)
      for (const ir::Statement& inner : body.statements) find_stored(inner, arrays);
  }
  /// Whether something was loaded from the array, or maybe from the same memory.
  bool is_loaded(std::uint32_t array) const {
    return no_alias_ ? std::ranges::find(loaded_, array) != loaded_.end() : !loaded_.empty();
  }

  const ir::Block& body_;
  const bool no_alias_;
  bool changed_ = false;
  std::unordered_set<const ir::Statement*> statements_;
  std::unordered_set<ir::ValueId> values_;
  std::unordered_set<std::uint32_t> locals_;
  std::vector<std::uint32_t> loaded_;  // arrays
};

}  // namespace

bool prints_can_be_late(const ir::Kernel& kernel, const ir::Statement& loop, bool no_alias) {
  return !kernel.options.check_bounds && LatePrints(loop.bodies.at(0), no_alias).possible();
}

}  // namespace weir::codegen
