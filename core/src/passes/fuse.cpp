// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/groups.hpp"
#include "ir/prints.hpp"
#include "ir/verifier.hpp"
#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

/// A chain of 20 loops of a simulator has some hundreds. More keep more values alive than a thread has
/// registers.
constexpr std::size_t max_merged_statements = 1500;
constexpr std::size_t max_merged_loops = 64;
/// Loops inside loops may nest this deep, below the verifier's limit.
constexpr std::size_t max_merged_depth = 100;
/// Least constant extent of an index that is worth being the only one that runs in parallel.
constexpr std::uint64_t min_shared_extent = 256;

bool is_loop(const Statement& s) {
  return s.op == Op::parallel || s.op == Op::reduce;
}

std::size_t count(const Statement& s) {
  std::size_t sum = 1;
  for (const Block& body : s.bodies) {
    for (const Statement& inner : body.statements) sum += count(inner);
  }
  return sum;
}

std::size_t depth(const Statement& s) {
  std::size_t deepest = 0;
  for (const Block& body : s.bodies) {
    deepest = std::max<std::size_t>(deepest, 1);
    for (const Statement& inner : body.statements) deepest = std::max(deepest, 1 + depth(inner));
  }
  return deepest;
}

// Whether a `continue` in the statement block ends the iteration of the loop around it.
bool continues(const Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const Statement& s) {
    if (s.op == Op::continue_) return true;
    if (s.op == Op::for_ || s.op == Op::while_) return false;
    return std::any_of(s.bodies.begin(), s.bodies.end(), continues);
  });
}

/// Neighbours that become one loop.
struct Group {
  std::vector<const Statement*> members;
  std::vector<Accesses> accesses;
  std::size_t statements = 0;
  /// Ways to choose the indices of the merged loop: for each member, the positions of these indices among its
  /// own, in the order of the merged loop's. The first is taken.
  std::vector<std::vector<std::vector<std::size_t>>> choices;
};

class Pass {
 public:
  Pass(FusedKernel& result, Fusion how, const FusionAssumptions& known)
      : result_(result),
        from_(result.kernel),
        shared_(how == Fusion::shared_index),
        known_(known),
        forms_(from_),
        renamed_(from_.value_count) {
    for (ValueId id = 0; id < from_.value_count; ++id) renamed_[id] = id;
  }

  void run() { result_.kernel.body = block(from_.body); }

 private:
  Block block(const Block& from) {
    Block out;
    out.arguments = from.arguments;
    Group group;
    const Statement *last = nullptr, *between = nullptr;
    ir::Location last_at;
    for (const Statement& s : from.statements) {
      if (is_loop(s)) {
        std::string reason = last == nullptr ? "first"
                             : between != nullptr
                                 ? "the statement at " + place(*between) + " runs between them"
                                 : refusal(group, s);
        if (last != nullptr) decide(last_at, s, reason);
        if (!reason.empty()) {
          flush(group, out);
          start(group, s);
        }
        last = &s;
        last_at = end_of(s);
        between = nullptr;
        if (s.op == Op::reduce) flush(group, out);  // later statements may use its result
      } else if (is_pure(s.op)) {
        out.statements.push_back(s);  // goes before the group: its operands are known there
      } else {
        flush(group, out);
        between = &s;
        out.statements.push_back(s);
        if ((s.op == Op::region && s.immediate == 0) || s.op == Op::repeat) {
          for (std::size_t b = 0; b < s.bodies.size(); ++b)
            out.statements.back().bodies[b] = block(s.bodies[b]);
        }
      }
    }
    flush(group, out);
    return out;
  }

  std::string place(const Statement& s) const { return ir::describe(from_, s.location); }

  const std::vector<ValueId>& indices(const Statement& loop) const { return loop.bodies[0].arguments; }

  bool same_bounds(const Statement& a, std::size_t i, const Statement& b, std::size_t k) const {
    return forms_.of(a.operands[2 * i]) == forms_.of(b.operands[2 * k]) &&
           forms_.of(a.operands[2 * i + 1]) == forms_.of(b.operands[2 * k + 1]);
  }

  // The location of the last loop that was merged into `loop`.
  ir::Location end_of(const Statement& loop) const {
    const auto merged = result_.merged.find(indices(loop).front());
    return merged == result_.merged.end() ? loop.location : merged->second.back().location;
  }

  void decide(const ir::Location& first, const Statement& second, const std::string& reason) {
    const auto known = std::find_if(result_.decisions.begin(), result_.decisions.end(), [&](const auto& d) {
      return d.first == first && d.second == second.location;
    });
    FusionDecision decision{first, second.location, reason.empty(), reason};
    if (known == result_.decisions.end())
      result_.decisions.push_back(std::move(decision));
    else
      *known = std::move(decision);
  }

  // ---- whether a loop joins

  void start(Group& group, const Statement& s) {
    group = {};
    add(group, s);
    const std::size_t rank = indices(s).size();
    if (!shared_) {
      std::vector<std::size_t> all(rank);
      for (std::size_t d = 0; d < rank; ++d) all[d] = d;
      group.choices = {{all}};
      return;
    }
    for (std::size_t d = 0; d < rank; ++d) {
      if (is_worth(s, d)) group.choices.push_back({{d}});
    }
  }

  void add(Group& group, const Statement& s) {
    group.members.push_back(&s);
    group.accesses.push_back(accesses_of(s));
    group.statements += count(s);
  }

  bool is_worth(const Statement& s, std::size_t d) const {
    const LinearForm &low = forms_.of(s.operands[2 * d]), &high = forms_.of(s.operands[2 * d + 1]);
    if (low.terms != high.terms) return true;
    const auto extent = static_cast<std::int64_t>(high.constant - low.constant);
    return extent >= static_cast<std::int64_t>(min_shared_extent);
  }

  // "" when the loop has joined the group, else what keeps it out.
  std::string refusal(Group& group, const Statement& s) {
    if (ir::is_group_loop(s) || (!group.members.empty() && ir::is_group_loop(*group.members.front())))
      return "a group loop is not merged with others";
    if (group.members.empty()) return "a reduction is the last loop of those that are merged";
    if (shared_ && (s.op == Op::reduce || group.members.front()->op == Op::reduce))
      return "a reduction is merged only with loops over the same space";
    for (const Statement* const member : group.members) {
      if (can_fail(*member, from_.options)) return fails(*member);
    }
    if (shared_ && can_fail(s, from_.options)) return fails(s);
    if (shared_) {
      for (const Statement* const member : group.members)
        if (ir::prints(*member)) return prints_itself(*member);
      if (ir::prints(s)) return prints_itself(s);
    }
    if (group.members.size() >= max_merged_loops || group.statements + count(s) > max_merged_statements ||
        depth(s) > max_merged_depth)
      return "together they have " + std::to_string(group.statements + count(s)) +
             " statements, too many for one loop";
    std::string reason = shared_ ? join_by_one(group, s) : join_by_all(group, s);
    if (reason.empty()) add(group, s);
    return reason;
  }

  std::string fails(const Statement& loop) const {
    return "the loop at " + place(loop) +
           " can fail, and iterations of a later loop run after a failure of an earlier one";
  }

  std::string prints_itself(const Statement& loop) const {
    return "the loop at " + place(loop) + " prints, and its lines are in the order of all of its own indices";
  }

  std::string join_by_all(Group& group, const Statement& s) {
    const Statement& first = *group.members.front();
    const std::size_t rank = indices(s).size();
    if (rank != indices(first).size()) return "they have different numbers of indices";
    for (std::size_t d = 0; d < rank; ++d) {
      if (!same_bounds(first, d, s, d)) return "their bounds come from different values";
    }
    const Accesses touched = accesses_of(s);
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const Dependence found = find_dependence(forms_, from_, group.accesses[m], touched, known_);
      for (std::size_t d = 0; d < rank; ++d) {
        if (!holds(found, *group.members[m], d, s, d)) return describe(from_, found) + by_another(found);
      }
    }
    group.choices.front().push_back(group.choices.front().front());
    return {};
  }

  std::string join_by_one(Group& group, const Statement& s) {
    if (group.choices.empty()) return "the earlier loop has no index with enough values";
    const Accesses touched = accesses_of(s);
    std::vector<Dependence> found;
    for (const Accesses& accesses : group.accesses)
      found.push_back(find_dependence(forms_, from_, accesses, touched, known_));
    std::string reason = "no index of both has the same bounds";
    decltype(group.choices) choices;
    for (const auto& choice : group.choices) {
      for (std::size_t d = 0; d < indices(s).size(); ++d) {
        if (!same_bounds(*group.members.front(), choice.front().front(), s, d)) continue;
        std::size_t m = 0;
        while (m < found.size() && holds(found[m], *group.members[m], choice[m].front(), s, d)) ++m;
        if (m < found.size()) {
          reason = describe(from_, found[m]) + by_another(found[m]);
          continue;
        }
        choices.push_back(choice);
        choices.back().push_back({d});
        break;
      }
    }
    if (choices.empty()) return reason;
    group.choices = std::move(choices);
    return {};
  }

  bool holds(const Dependence& found, const Statement& a, std::size_t i, const Statement& b,
             std::size_t k) const {
    if (!found.exists) return true;
    const std::pair pair(forms_.symbol(indices(a)[i]), forms_.symbol(indices(b)[k]));
    return std::find(found.equal.begin(), found.equal.end(), pair) != found.equal.end();
  }

  static std::string by_another(const Dependence& found) {
    return found.first->index == found.second->index ? ", possibly by different iterations" : "";
  }

  // ---- the merged loop

  void flush(Group& group, Block& out) {
    if (group.members.size() == 1) out.statements.push_back(*group.members.front());
    if (group.members.size() > 1) merge(group, out);
    group = {};
  }

  void merge(const Group& group, Block& out) {
    const auto& choice = group.choices.front();
    const Statement &first = *group.members.front(), &last = *group.members.back();
    Statement merged;
    merged.op = last.op;
    merged.type = last.type;
    merged.index = last.index;
    merged.result = last.result;
    merged.location = first.location;
    Block& body = merged.bodies.emplace_back();
    for (const std::size_t d : choice.front()) {
      merged.operands.insert(merged.operands.end(), {first.operands[2 * d], first.operands[2 * d + 1]});
      body.arguments.push_back(indices(first)[d]);
    }
    zero_ = one_ = ir::no_value;
    std::vector<WrittenLoop> stands_for;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const Statement& member = *group.members[m];
      for (std::size_t d = 0; d < choice[m].size(); ++d)
        renamed_[indices(member)[choice[m][d]]] = body.arguments[d];
      append(member, choice[m], m + 1 == group.members.size(), body);
      const auto known = result_.merged.find(indices(member).front());
      if (known == result_.merged.end()) {
        stands_for.push_back({member.location, member.operands});
      } else {
        stands_for.insert(stands_for.end(), known->second.begin(), known->second.end());
        result_.merged.erase(known);
      }
    }
    result_.merged[body.arguments.front()] = std::move(stands_for);
    out.statements.push_back(std::move(merged));
  }

  // Indices that the merged loop does not have become sequential loops, in their order. A `continue` of the
  // member then is one of the innermost of them; a loop of one iteration keeps it in where there is none.
  void append(const Statement& member, const std::vector<std::size_t>& shared, bool last, Block& body) {
    std::vector<std::size_t> inner;
    for (std::size_t d = 0; d < indices(member).size(); ++d) {
      if (std::find(shared.begin(), shared.end(), d) == shared.end()) inner.push_back(d);
    }
    const bool once = inner.empty() && !last && continues(member.bodies[0]);
    if (!inner.empty() || once) constants(member, body);
    Block* at = &body;
    const auto nest = [&](ValueId low, ValueId high, ValueId index) {
      Statement loop;
      loop.op = Op::for_;
      loop.operands = {low, high, one_};
      loop.location = member.location;
      loop.bodies.emplace_back().arguments = {index};
      at->statements.push_back(std::move(loop));
      at = &at->statements.back().bodies[0];
    };
    for (const std::size_t d : inner)
      nest(member.operands[2 * d], member.operands[2 * d + 1], indices(member)[d]);
    if (once) nest(zero_, one_, fresh());
    for (const Statement& s : member.bodies[0].statements) at->statements.push_back(copy(s));
  }

  ValueId fresh() { return result_.kernel.value_count++; }

  void constants(const Statement& member, Block& body) {
    if (one_ != ir::no_value) return;
    for (const std::uint64_t bits : {0, 1}) {
      Statement s;
      s.op = Op::constant;
      s.type = ScalarType::i64;
      s.immediate = bits;
      s.result = fresh();
      s.location = member.location;
      (bits == 0 ? zero_ : one_) = s.result;
      body.statements.push_back(std::move(s));
    }
  }

  Statement copy(const Statement& s) const {
    Statement out = s;
    rename(out);
    return out;
  }

  void rename(Statement& s) const {
    for (ValueId& id : s.operands) id = renamed_[id];
    for (Block& body : s.bodies) {
      for (Statement& inner : body.statements) rename(inner);
    }
  }

  FusedKernel& result_;
  const ir::Kernel from_;  // before merging, for comparisons
  bool shared_;
  FusionAssumptions known_;
  LinearForms forms_;
  std::vector<ValueId> renamed_;  // by value of from_
  ValueId zero_ = ir::no_value, one_ = ir::no_value;
};

}  // namespace

void for_each_merged_loop(Block& block, const MergedLoops& merged,
                          const std::function<void(Statement&)>& action) {
  for (Statement& s : block.statements) {
    const bool loop = s.op == Op::parallel || s.op == Op::reduce;
    if (loop && merged.contains(s.bodies[0].arguments.front())) action(s);
    if (s.op == Op::region || s.op == Op::repeat)
      for (Block& body : s.bodies) for_each_merged_loop(body, merged, action);
  }
}

FusedKernel fuse(const ir::Kernel& kernel, Fusion how, const FusionAssumptions& known) {
  FusedKernel result{kernel, {}, {}};
  if (how == Fusion::none) return result;
  Pass(result, Fusion::same_space, known).run();
  if (how == Fusion::shared_index) Pass(result, Fusion::shared_index, known).run();
  if (!result.merged.empty()) {
    unroll_loops(result.kernel, result.merged);
    forward_stores(result.kernel, result.merged, known);
  }
#ifndef NDEBUG
  ir::verify_or_throw(result.kernel);
#endif
  return result;
}

}  // namespace weir::passes
