// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <weir/error.hpp>

#include "ir/error_record.hpp"
#include "ir/groups.hpp"

namespace weir::ir {

namespace {

/// Whether computing a value again costs less than keeping it for each thread.
bool is_cheap(const Statement& s) {
  if (s.op > Op::bitcast) return false;
  return (s.op != Op::div && s.op != Op::rem) || is_integer(s.type);
}

class GroupSplitter {
 public:
  GroupSplitter(Statement& loop, bool check_bounds, std::uint32_t& values, std::uint32_t& locals)
      : loop_(loop),
        check_bounds_(check_bounds),
        uniform_(loop, check_bounds),
        values_(values),
        locals_(locals) {}

  void run() {
    if (!uniform_.faults().empty())
      throw Error(
          ErrorCode::unknown,
          "internal error: some threads of a group do not reach a barrier or an exchange of their loop");
    Block out = split(loop_.bodies[0]);
    out.arguments = loop_.bodies[0].arguments;
    collect(out);
    for (std::size_t i = 0; i < segments_.size(); ++i) import_values(i);
    for (const auto& [value, local] : kept_) export_value(value, local);
    place_locals(out);
    if ((segments_.size() > 1 || repeats_) && ends_) add_mask();
    out.statements.insert(out.statements.begin(), declarations_.begin(), declarations_.end());
    loop_.bodies[0] = std::move(out);
    loop_.index = 1;
  }

 private:
  /// Statements for each thread, until a statement of the group follows.
  struct Open {
    Block* out;
    Statement threads;
    void flush() {
      if (!threads.bodies[0].statements.empty()) {
        threads.location = threads.bodies[0].statements.front().location;
        out->statements.push_back(std::move(threads));
      }
      threads = Statement{.op = Op::threads, .bodies = {Block{}}};
    }
  };

  Block split(const Block& from) {
    Block out;
    out.arguments = from.arguments;
    Open open{&out, {.op = Op::threads, .bodies = {Block{}}}};
    for (const Statement& s : from.statements) statement(s, out, open);
    open.flush();
    // A jump or yield ends its statement block, so it follows the last segment.
    const auto jump = std::find_if(out.statements.begin(), out.statements.end(), [](const Statement& s) {
      return s.op == Op::break_ || s.op == Op::continue_ || s.op == Op::yield;
    });
    if (jump != out.statements.end()) std::rotate(jump, jump + 1, out.statements.end());
    return out;
  }

  void statement(const Statement& s, Block& out, Open& open) {
    switch (s.op) {
      case Op::shared:
        out.statements.push_back(s);
        return;
      case Op::local:
        out.statements.push_back(s);
        if (!uniform_.local(s.index)) out.statements.back().component = 1;
        return;
      case Op::barrier:
        open.flush();
        out.statements.push_back(s);
        return;
      case Op::shuffle:
      case Op::ballot:
        open.flush();
        open.threads.bodies[0].statements.push_back(s);
        open.threads.component = 1;
        open.flush();
        return;
      case Op::set:
        if (!uniform_.local(s.index)) break;
        open.flush();
        out.statements.push_back(s);
        return;
      case Op::get:
        if (!uniform_.local(s.index) || !uniform_.value(s.result)) break;
        out.statements.push_back(s);
        return;
      case Op::scratch_load:
        if (!uniform_.value(s.result)) break;
        out.statements.push_back(s);
        return;
      case Op::load:  // another parameter may be the same array, and be written
        if (!uniform_.value(s.result)) break;
        open.flush();
        out.statements.push_back(s);
        return;
      case Op::assert_:  // ends the group, unless some of its threads have ended
        if (ends_ || !uniform_.value(s.operands[0])) break;
        open.flush();
        out.statements.push_back(s);
        return;
      case Op::yield:
        out.statements.push_back(s);
        return;
      case Op::break_:
      case Op::continue_:
        out.statements.push_back(s);
        return;
      case Op::if_:
      case Op::for_:
      case Op::while_:
        if (is_lifted(s)) {
          open.flush();
          lift(s, out);
          return;
        }
        break;
      default:
        if (s.op <= Op::philox && uniform_.value(s.result)) {
          out.statements.push_back(s);
          return;
        }
        break;
    }
    ends_ = ends_ || can_end(s, true);
    open.threads.bodies[0].statements.push_back(s);
  }

  void lift(const Statement& s, Block& out) {
    Statement copy = s;
    const bool loop = s.op != Op::if_;
    depth_ += loop;
    repeats_ = repeats_ || loop;
    for (std::size_t i = 0; i < s.bodies.size(); ++i) copy.bodies[i] = split(s.bodies[i]);
    depth_ -= loop;
    out.statements.push_back(std::move(copy));
  }

  /// Whether a branch or loop runs once for the whole group.
  bool is_lifted(const Statement& s) const {
    std::unordered_set<std::uint32_t> declared;
    const bool jumps = depth_ > 0 || (s.op == Op::if_ && uniform_.value(s.operands[0]));
    return lifts(s, declared, s.op != Op::if_, jumps);
  }

  /// `jumps`: a break or continue outside of inner loops lifts it.
  bool lifts(const Statement& s, std::unordered_set<std::uint32_t>& declared, bool in_loop,
             bool jumps) const {
    for (const Block& body : s.bodies)
      for (const Statement& inner : body.statements) {
        if (is_collective(inner.op)) return true;
        if (inner.op == Op::local) declared.insert(inner.index);
        if (inner.op == Op::set && uniform_.local(inner.index) && !declared.contains(inner.index))
          return true;
        if ((inner.op == Op::break_ || inner.op == Op::continue_) && !in_loop && jumps) return true;
        if (lifts(inner, declared, in_loop || inner.op == Op::for_ || inner.op == Op::while_, jumps))
          return true;
      }
    return false;
  }

  bool can_end(const Statement& s, bool of_group) const {
    if (s.op == Op::assert_ || (of_group && s.op == Op::continue_)) return true;
    if (check_bounds_ && has_site(s) && s.op != Op::print) return true;
    const bool loop = s.op == Op::for_ || s.op == Op::while_;
    return std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Block& body) {
      return std::any_of(body.statements.begin(), body.statements.end(),
                         [&](const Statement& inner) { return can_end(inner, of_group && !loop); });
    });
  }

  // ---- values that cross

  void collect(Block& block) {
    for (Statement& s : block.statements) {
      if (s.op == Op::threads) {
        const std::size_t number = segments_.size();
        segments_.push_back(&s);
        for (const Statement& inner : s.bodies[0].statements)
          if (inner.result != no_value) defined_[inner.result] = {number, inner};
        note_locals(s.bodies[0], number);
        continue;
      }
      for (Block& body : s.bodies) collect(body);
    }
  }

  void note_locals(const Block& block, std::size_t segment) {
    for (const Statement& s : block.statements) {
      if (names_local(s)) uses_[s.index].insert(segment);
      for (const Block& body : s.bodies) note_locals(body, segment);
    }
  }

  struct Import {
    std::size_t segment;
    std::unordered_map<ValueId, ValueId> names;
    std::vector<Statement> prelude;
  };

  void import_values(std::size_t segment) {
    Import import{segment, {}, {}};
    rename(segments_[segment]->bodies[0], import);
    auto& statements = segments_[segment]->bodies[0].statements;
    statements.insert(statements.begin(), import.prelude.begin(), import.prelude.end());
  }

  void rename(Block& block, Import& import) {
    for (Statement& s : block.statements) {
      for (ValueId& id : s.operands) id = here(id, import);
      for (Block& body : s.bodies) rename(body, import);
    }
  }

  /// The value in the segment.
  ValueId here(ValueId id, Import& import) {
    const auto definition = defined_.find(id);
    if (definition == defined_.end() || definition->second.segment == import.segment) return id;
    if (const auto known = import.names.find(id); known != import.names.end()) return known->second;
    Statement s = definition->second.statement;
    if (is_cheap(s)) {
      for (ValueId& operand : s.operands) operand = here(operand, import);
    } else {
      const auto [kept, added] = kept_.emplace(id, locals_);
      if (added) declare(s.type, locals_++, 2, s.location);
      s = Statement{.op = Op::get, .type = s.type, .index = kept->second, .location = s.location};
    }
    s.result = values_++;
    import.names.emplace(id, s.result);
    import.prelude.push_back(std::move(s));
    return import.prelude.back().result;
  }

  void export_value(ValueId id, std::uint32_t local) {
    const auto& [segment, definition] = defined_.at(id);
    auto& statements = segments_[segment]->bodies[0].statements;
    const auto at = std::find_if(statements.begin(), statements.end(),
                                 [&](const Statement& s) { return s.result == id; });
    statements.insert(at + 1, Statement{.op = Op::set,
                                        .type = definition.type,
                                        .index = local,
                                        .operands = {id},
                                        .location = definition.location});
  }

  void declare(ScalarType type, std::uint32_t index, std::uint8_t component, const Location& where) {
    declarations_.push_back({.op = Op::local,
                             .type = type,
                             .component = component,
                             .index = index,
                             .immediate = 1,
                             .location = where});
  }

  /// Moves locals that only one segment of the same statement block uses into it.
  void place_locals(Block& block) {
    auto& statements = block.statements;
    for (std::size_t i = 0; i < statements.size();) {
      Statement& s = statements[i];
      if (s.op != Op::local || s.component != 1 || uses_[s.index].size() != 1) {
        if (s.op != Op::threads)
          for (Block& body : s.bodies) place_locals(body);
        ++i;
        continue;
      }
      const Statement* only = segments_[*uses_[s.index].begin()];
      const auto user = std::find_if(statements.begin(), statements.end(),
                                     [&](const Statement& other) { return &other == only; });
      if (user == statements.end()) {
        ++i;
        continue;
      }
      s.component = 0;
      // Erasing moves statements, so segments_ must follow them.
      Statement local = std::move(s);
      user->bodies[0].statements.insert(user->bodies[0].statements.begin(), std::move(local));
      statements.erase(statements.begin() + std::ptrdiff_t(i));
      renew(block, i);
    }
  }

  void renew(Block& block, std::size_t erased) {
    for (std::size_t i = erased; i < block.statements.size(); ++i) {
      const Statement* old = &block.statements[i] + 1;
      renew_at(block.statements[i], old);
    }
  }
  // Only the statement itself has moved; its bodies are elsewhere.
  void renew_at(Statement& now, const Statement* old) {
    if (now.op != Op::threads) return;
    const auto at = std::find(segments_.begin(), segments_.end(), old);
    if (at != segments_.end()) *at = &now;
  }

  void add_mask() {
    const std::uint32_t mask = locals_++;
    declare(ScalarType::boolean, mask, 1, loop_.location);
    for (Statement* segment : segments_) {
      if (segment->component != 0) continue;
      segment->index = mask;
      segment->immediate = 1;
    }
  }

  struct Definition {
    std::size_t segment = 0;
    Statement statement;
  };

  Statement& loop_;
  bool check_bounds_;
  Uniformity uniform_;
  std::uint32_t &values_, &locals_;
  std::size_t depth_ = 0;  // of loops that run for the whole group
  bool ends_ = false;
  bool repeats_ = false;  ///< a loop runs once for the whole group
  std::vector<Statement*> segments_;
  std::vector<Statement> declarations_;
  std::unordered_map<ValueId, Definition> defined_;
  std::unordered_map<ValueId, std::uint32_t> kept_;
  std::unordered_map<std::uint32_t, std::unordered_set<std::size_t>> uses_;
};

}  // namespace

void split_group(Statement& loop, bool check_bounds, std::uint32_t& value_count, std::uint32_t& local_count) {
  GroupSplitter(loop, check_bounds, value_count, local_count).run();
}

}  // namespace weir::ir
