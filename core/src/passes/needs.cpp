// SPDX-License-Identifier: Apache-2.0
// Liveness over the whole kernel, last statement first. One pass is enough, since code is structured and
// values are defined once.
#include <algorithm>

#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

// Largest cost of recomputing a value with all its operands. Costlier values pass through scratch memory,
// which also bounds the size of a plan.
constexpr std::uint32_t max_recomputed = 256;

class Needs {
 public:
  explicit Needs(Draft& draft)
      : draft_(draft), live_(draft.values.size(), nowhere), taken_(draft.values.size(), nowhere) {}

  void run() {
    weigh();
    for (std::size_t i = draft_.segments.size(); i-- > 0;) {
      segment_ = static_cast<std::uint32_t>(i);
      Segment& segment = draft_.segments[i];
      if (draft_.is_control(segment)) {
        segment.live = true;
        if (segment.kind != Segment::Kind::repeat_end) use(segment.statements[0]->operands[0]);
      } else {
        for (std::size_t s = segment.statements.size(); s-- > 0;) top(*segment.statements[s]);
      }
      const auto earlier = [this](ValueId a, ValueId b) {
        return draft_.values[a].order < draft_.values[b].order;
      };
      std::sort(segment.recomputed.begin(), segment.recomputed.end(), earlier);
      std::sort(segment.imported.begin(), segment.imported.end(), earlier);
    }
  }

 private:
  void weigh() {
    std::vector<std::uint32_t> costs(draft_.values.size(), 0);
    for (const Segment& segment : draft_.segments) {
      for (const Statement* const s : segment.statements) {
        if (s->result == ir::no_value || !is_pure(s->op)) continue;
        std::uint64_t cost = 1;
        for (const ValueId id : s->operands) cost += draft_.values[id].recomputable ? costs[id] : 1;
        costs[s->result] = static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, max_recomputed + 1));
        draft_.values[s->result].recomputable = cost <= max_recomputed;
      }
    }
  }

  void top(const Statement& s) {
    const bool exported = s.result != ir::no_value && draft_.values[s.result].exported;
    if (!draft_.effects.contains(&s) && !exported && !is_live(s)) return;
    draft_.segments[segment_].live = true;
    keep(s);
  }

  bool is_live(const Statement& s) const { return s.result != ir::no_value && live_[s.result] == segment_; }

  void keep(const Statement& s) {
    draft_.kept.insert(&s);
    touch(s);
    for (const ValueId id : s.operands) use(id);
    if (s.op == Op::print) {  // lines of repetitions are in their order
      for (const Repeat* repeat : draft_.repeats_around(segment_))
        use(repeat->statement->bodies[0].arguments[0]);
    }
    for (const Block& body : s.bodies) {
      for (std::size_t i = body.statements.size(); i-- > 0;) {
        const Statement& inner = body.statements[i];
        const bool jump = inner.op == Op::break_ || inner.op == Op::continue_ || inner.op == Op::yield;
        if (jump || draft_.effects.contains(&inner) || is_live(inner) || leaves(inner)) keep(inner);
      }
    }
  }

  // A conditional jump has no effect itself but controls which statements run.
  static bool leaves(const Statement& s) {
    return std::any_of(s.bodies.begin(), s.bodies.end(), [](const Block& body) {
      return std::any_of(body.statements.begin(), body.statements.end(), [](const Statement& inner) {
        return inner.op == Op::break_ || inner.op == Op::continue_ || leaves(inner);
      });
    });
  }

  void touch(const Statement& s) {
    if (s.op != Op::local && s.op != Op::get && s.op != Op::set) return;
    TopLocal& local = draft_.locals[s.index];
    if (local.declaration == nullptr) return;
    if (local.segment == nowhere) local.segment = segment_;
    if (local.segment != segment_) local.shared = true;
    local.indexed |= s.operands.size() > (s.op == Op::set ? 1u : 0u);
    LocalUse& use = draft_.segments[segment_].locals[s.index];
    use.declared = use.declared || s.op == Op::local;
    use.set = use.set || s.op == Op::set;
  }

  void use(ValueId id) {
    std::vector<ValueId> pending{id};
    while (!pending.empty()) {
      const ValueId next = pending.back();
      pending.pop_back();
      TopValue& value = draft_.values[next];
      if (value.definition == nullptr || value.segment == segment_) {
        live_[next] = segment_;
        continue;
      }
      if (taken_[next] == segment_) continue;
      taken_[next] = segment_;
      if (value.recomputable) {
        draft_.segments[segment_].recomputed.push_back(next);
        pending.insert(pending.end(), value.definition->operands.begin(), value.definition->operands.end());
      } else {
        draft_.segments[segment_].imported.push_back(next);
        value.exported = true;
      }
    }
  }

  Draft& draft_;
  std::uint32_t segment_ = 0;
  std::vector<std::uint32_t> live_;   // by value: the segment in which a statement needs it
  std::vector<std::uint32_t> taken_;  // by value: the segment that recomputes or imports it
};

}  // namespace

void find_needs(Draft& draft) {
  Needs(draft).run();
}

}  // namespace weir::passes
