// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "ir/groups.hpp"
#include "ir/rules.hpp"

namespace weir::ir {
namespace {

bool is_atomic(const Statement& s) {
  return s.op == Op::atomic || s.op == Op::shared_atomic;
}

std::string describe(const Statement& s) {
  std::string words(info(s.op).mnemonic);
  if (is_atomic(s)) words += "." + std::string(to_string(static_cast<AtomicKind>(s.immediate)));
  return "'" + words + "'";
}

/// Operations of one class commute with one another on integers.
AtomicKind class_of(const Statement& s) {
  const auto kind = static_cast<AtomicKind>(s.immediate);
  return kind == AtomicKind::sub ? AtomicKind::add : kind;
}

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : kernel_(kernel) { note_uses(kernel.body); }

  /// `unordered`: stream blocks of a region run at the same time, and their atomics are checked together.
  void look_at(const Block& block, bool unordered) {
    for (const Statement& s : block.statements) {
      if (s.op == Op::parallel || s.op == Op::reduce) {
        if (!unordered) check_atomics(s.bodies);
        // Barriers may order the accesses of a group.
        if (!is_group_loop(s)) check_plain_accesses(s.bodies);
      } else if (s.op == Op::region || s.op == Op::repeat) {
        const bool conflicts = s.op == Op::region && s.immediate == 1 && !unordered;
        if (conflicts) check_atomics(s.bodies);
        for (const Block& body : s.bodies) look_at(body, unordered || conflicts);
      }
    }
  }

  std::vector<Diagnostic> take() { return std::move(found_); }

 private:
  // In reverse, so that a conversion whose result nobody uses is no use. An atomic of a half has one.
  void note_uses(const Block& block) {
    for (auto s = block.statements.rbegin(); s != block.statements.rend(); ++s) {
      for (auto body = s->bodies.rbegin(); body != s->bodies.rend(); ++body) note_uses(*body);
      if (s->op != Op::cast || used_.contains(s->result))
        used_.insert(s->operands.begin(), s->operands.end());
    }
  }

  template <class F>
  static void each_statement(std::span<const Block> bodies, const F& visit) {
    for (const Block& body : bodies)
      for (const Statement& s : body.statements) {
        visit(s);
        each_statement(s.bodies, visit);
      }
  }

  /// Of bodies that run in no order.
  void check_atomics(std::span<const Block> bodies) {
    firsts_.clear();
    each_statement(bodies, [&](const Statement& s) {
      if (is_atomic(s)) check(s);
    });
  }

  void check_plain_accesses(std::span<const Block> bodies) {
    std::map<std::uint32_t, const Statement*> updates;
    each_statement(bodies, [&](const Statement& s) {
      if (s.op == Op::atomic) updates.try_emplace(s.index, &s);
    });
    each_statement(bodies, [&](const Statement& s) {
      if ((s.op != Op::load && s.op != Op::store) || !updates.contains(s.index)) return;
      const Statement& update = *updates.at(s.index);
      report(s,
             describe(s) + place(s) + " and " + describe(update) + " at " +
                 describe(kernel_, update.location) +
                 " give a result that depends on the order of the iterations; use separate loops or arrays");
    });
  }

  void check(const Statement& s) {
    const AtomicKind kind = class_of(s);
    const Statement& first = *firsts_.try_emplace({s.op, s.index}, &s).first->second;
    const std::string thing = describe(s) + " of " + std::string(to_string(s.type)) + place(s);
    if (kind == AtomicKind::exchange || kind == AtomicKind::compare_exchange)
      return report(s,
                    thing + " depends on the order of the iterations; let one iteration store each element");
    if (is_float(s.type) && (kind == AtomicKind::add || kind == AtomicKind::mul))
      return report(s, thing +
                           " rounds by the order of the iterations; use a reduction, sort_by_key and "
                           "reduce_by_key, a for_ loop over the terms of one element, or integers");
    if (s.result != no_value && used_.contains(s.result))
      return report(s, "the old value of " + thing +
                           " depends on the order of the iterations; compute it by a scan, or do not use it");
    if (class_of(first) != kind)
      report(s, thing + " and " + describe(first) + " at " + describe(kernel_, first.location) +
                    " give a result that depends on the order of the iterations; use one operation for each "
                    "array, or separate loops");
  }

  std::string place(const Statement& s) const {
    if (s.op == Op::shared_atomic) return " on shared memory";
    return " on " + describe_parameter(kernel_, s.index);
  }

  void report(const Statement& s, std::string message) {
    if (found_.size() < max_diagnostics)
      found_.push_back({s.location, "the kernel is deterministic, but " + std::move(message)});
  }

  const Kernel& kernel_;
  std::unordered_set<ValueId> used_;
  std::map<std::pair<Op, std::uint32_t>, const Statement*> firsts_;  ///< by operation and array
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> order_dependences(const Kernel& kernel) {
  Finder finder(kernel);
  finder.look_at(kernel.body, false);
  return finder.take();
}

}  // namespace weir::ir
