// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "passes/draft.hpp"
#include "passes/fuse.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

/// An element whose value is known. The statement is the load or the store that made it known.
struct Element {
  std::uint32_t parameter = 0;
  std::uint8_t component = 0;
  std::vector<LinearForm> index;
  ValueId value = ir::no_value;

  bool is(const Element& other) const {
    return parameter == other.parameter && component == other.component && index == other.index;
  }
};
using Elements = std::vector<Element>;

class Forwarding {
 public:
  Forwarding(ir::Kernel& kernel, const FusionAssumptions& known)
      : kernel_(kernel), known_(known), forms_(kernel), renamed_(kernel.value_count) {
    for (ValueId id = 0; id < kernel.value_count; ++id) renamed_[id] = id;
  }

  void loop(Statement& loop) {
    Elements elements;
    block(loop.bodies[0], elements);
  }

 private:
  void block(Block& block, Elements& elements) {
    std::vector<Statement> kept;
    kept.reserve(block.statements.size());
    Overwritten overwritten(*this);
    for (Statement& s : block.statements) {
      for (ValueId& id : s.operands) id = renamed_[id];
      if (!statement(s, elements)) continue;
      overwritten.next(s, kept.size());
      kept.push_back(std::move(s));
    }
    block.statements = overwritten.removed_from(std::move(kept));
  }

  /// Stores of a block whose element a later store of the same block changes, before anything can read it.
  class Overwritten {
   public:
    explicit Overwritten(const Forwarding& pass) : pass_(pass) {}

    void next(const Statement& s, std::size_t position) {
      if (s.op == Op::store) {
        const Element stored = pass_.element(s, s.operands.back());
        std::erase_if(pending_, [&](const auto& pending) {
          if (!pending.first.is(stored)) return false;
          dead_.push_back(pending.second);
          return true;
        });
        pending_.emplace_back(stored, position);
      } else if (s.op == Op::load) {
        const Element loaded = pass_.element(s, s.result);
        std::erase_if(pending_, [&](const auto& pending) { return pass_.may_be(pending.first, loaded); });
      } else if (!is_pure(s.op) && s.op != Op::get && s.op != Op::set && s.op != Op::local) {
        pending_.clear();  // it may read the element, or end the iteration
      }
    }

    std::vector<Statement> removed_from(std::vector<Statement> statements) const {
      if (dead_.empty()) return statements;
      std::vector<bool> dead(statements.size(), false);
      for (const std::size_t position : dead_) dead[position] = true;
      std::vector<Statement> kept;
      kept.reserve(statements.size() - dead_.size());
      for (std::size_t i = 0; i < statements.size(); ++i)
        if (!dead[i]) kept.push_back(std::move(statements[i]));
      return kept;
    }

   private:
    const Forwarding& pass_;
    std::vector<std::pair<Element, std::size_t>> pending_;  // and their positions
    std::vector<std::size_t> dead_;
  };

  // False when the statement is a load whose value is known.
  bool statement(Statement& s, Elements& elements) {
    switch (s.op) {
      case Op::load:
        return load(s, elements);
      case Op::store: {
        Element stored = element(s, s.operands.back());
        forget(elements, stored);
        elements.push_back(std::move(stored));
        return true;
      }
      case Op::for_:
      case Op::while_:
        // A later iteration reads elements that an earlier one wrote.
        forget_written(elements, s);
        [[fallthrough]];
      default:
        for (Block& body : s.bodies) {
          Elements inside = elements;
          block(body, inside);
        }
        forget_written(elements, s);
        return true;
    }
  }

  bool load(Statement& s, Elements& elements) {
    Element loaded = element(s, s.result);
    const auto same =
        std::find_if(elements.begin(), elements.end(), [&](const Element& e) { return e.is(loaded); });
    if (same == elements.end()) {
      elements.push_back(std::move(loaded));
      return true;
    }
    renamed_[s.result] = same->value;
    return false;
  }

  Element element(const Statement& s, ValueId value) const {
    Element out{s.index, s.component, {}, value};
    for (std::size_t d = 0; d < kernel_.parameters[s.index].rank; ++d)
      out.index.push_back(forms_.of(s.operands[d]));
    return out;
  }

  void forget(Elements& elements, const Element& changed) const {
    std::erase_if(elements, [&](const Element& e) { return may_be(e, changed); });
  }

  bool may_be(const Element& a, const Element& b) const {
    if (a.parameter != b.parameter) return !known_.no_alias;
    return a.component == b.component && !differ(a, b);
  }

  // Two elements of one array, in one iteration.
  static bool differ(const Element& a, const Element& b) {
    for (std::size_t d = 0; d < a.index.size(); ++d) {
      if (a.index[d].terms == b.index[d].terms && a.index[d].constant != b.index[d].constant) return true;
    }
    return false;
  }

  void forget_written(Elements& elements, const Statement& s) const {
    for (const Statement* const access : accesses_of(s)) {
      if (access->op == Op::load) continue;
      std::erase_if(elements,
                    [&](const Element& e) { return !known_.no_alias || e.parameter == access->index; });
    }
  }

  ir::Kernel& kernel_;
  FusionAssumptions known_;
  const LinearForms forms_;
  std::vector<ValueId> renamed_;  // by value: the one to use instead
};

}  // namespace

void forward_stores(ir::Kernel& kernel, const MergedLoops& merged, const FusionAssumptions& known) {
  if (kernel.options.check_bounds) return;
  Forwarding forwarding(kernel, known);
  for_each_merged_loop(kernel.body, merged, [&](Statement& loop) { forwarding.loop(loop); });
}

}  // namespace weir::passes
