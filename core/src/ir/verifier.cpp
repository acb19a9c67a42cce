// SPDX-License-Identifier: Apache-2.0
// One walk over a kernel or task. Checks the scopes of values and locals and, through operation_rules and
// placement_rules, each single statement.
#include "ir/verifier.hpp"

#include <algorithm>
#include <set>

#include "ir/groups.hpp"
#include "ir/printer.hpp"
#include "ir/rules.hpp"

namespace weir::ir {

namespace {

class Verifier {
 public:
  Verifier(const Kernel& kernel, std::uint32_t values, std::uint32_t locals, bool task)
      : kernel_(kernel), task_(task) {
    if (values > max_ids || locals > max_ids) {
      report({}, "a kernel has at most " + std::to_string(max_ids) +
                     " values and as many local variables, found " +
                     std::to_string(std::max(values, locals)));
      countable_ = false;
      return;
    }
    values_.resize(values);
    locals_.resize(locals);
  }

  void header() {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (kernel_.name.empty()) report({}, "a kernel has a name, found none");
    if (std::any_of(kernel_.name.begin(), kernel_.name.end(), control)) {
      report({}, "a kernel's name has no control characters such as line ends");
    }
    if (kernel_.parameters.size() > max_parameters) {
      report({}, "a kernel has at most " + std::to_string(max_parameters) + " parameters, found " +
                     std::to_string(kernel_.parameters.size()));
    }
    std::vector<std::string_view> names;
    for (const Parameter& parameter : kernel_.parameters) {
      check_parameter(parameter);
      names.push_back(parameter.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      report({}, "two parameters are named @" + std::string(*twice) + "; names are unique");
  }

  void body(const Block& block) {
    if (!countable_) return;
    if (!block.arguments.empty()) report({}, "the body of a kernel takes no arguments");
    walk(block, Placement{});
    if (local_bytes_ > max_local_bytes) {
      report(too_many_locals_, "the local variables of a kernel take at most " +
                                   std::to_string(max_local_bytes) + " bytes together, found " +
                                   std::to_string(local_bytes_) + "; use array parameters for more");
    }
  }

  std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  enum class State : std::uint8_t { unknown, visible, gone };
  struct Value {
    State state = State::unknown;
    ScalarType type = ScalarType::boolean;
    Location location;
    const Statement* definition = nullptr;
  };
  struct Local {
    State state = State::unknown;
    LocalShape shape;
    const Statement* task_loop = nullptr;  // the loop that declares it
    bool shared = false;
    bool in_words = false;  // its elements take 4 bytes each on GPUs, which update whole words
    Location location;
  };

  bool full() const { return diagnostics_.size() >= max_diagnostics; }
  void report(const Location& where, std::string message) {
    if (!full()) diagnostics_.push_back({where, std::move(message)});
  }

  std::string at(const Location& where) const { return describe(kernel_, where); }

  void check_parameter(const Parameter& p) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    if (p.name.empty() || !letter(p.name[0]) || !std::all_of(p.name.begin(), p.name.end(), word)) {
      report(p.location,
             "a parameter's name is made of letters, digits and '_' and begins with no digit, found \"" +
                 p.name + "\"");
    }
    check_location(p.location);
    const bool array = p.kind == Parameter::Kind::array;
    if (p.rank > (array ? max_rank : 0)) {
      report(p.location, "@" + p.name + " is " +
                             (array ? "an array, of rank 0 to 4" : "a scalar, of rank 0") + ", found rank " +
                             std::to_string(p.rank));
    }
    const ElementType& e = p.element;
    const bool counts = e.rows >= 1 && e.rows <= 16 && e.cols >= 1 && e.cols <= 16;
    const bool shaped = e.shape == ElementType::Shape::matrix ||
                        (e.shape == ElementType::Shape::vector && e.cols == 1) ||
                        (e.shape == ElementType::Shape::scalar && e.rows == 1 && e.cols == 1);
    if (e.scalar > ScalarType::f64 || !counts || !shaped) {
      report(p.location,
             "@" + p.name + " holds a scalar, a vector of 1 to 16 or a matrix of 1 to 16 by 1 to 16, found " +
                 to_string(e));
    }
  }

  void check_location(const Location& where) {
    if (where.line == 0 || where.file < kernel_.files.size()) return;
    report({}, "a location names one of the kernel's " + std::to_string(kernel_.files.size()) +
                   " files, found number " + std::to_string(where.file));
  }

  // ---- scopes

  void define(ValueId id, ScalarType type, const Location& where) {
    if (id >= values_.size()) {
      report(where, "a result is one of the kernel's " + std::to_string(values_.size()) +
                        " values, found number " + std::to_string(id));
      return;
    }
    if (values_[id].state != State::unknown) {
      report(where, "%" + std::to_string(id) + " is defined twice, before at " + at(values_[id].location));
      return;
    }
    values_[id] = {State::visible, type, where};
    scope_values_.push_back(id);
  }

  // The types of the operands; false when an operand cannot be used here.
  bool resolve(const Statement& s, std::vector<ScalarType>& types) {
    bool good = true;
    types.clear();
    for (const ValueId id : s.operands) {
      const State state = id < values_.size() ? values_[id].state : State::unknown;
      if (state == State::visible) {
        types.push_back(values_[id].type);
        continue;
      }
      good = false;
      if (id >= values_.size()) {
        report(s.location, "an operand is one of the kernel's " + std::to_string(values_.size()) +
                               " values, found number " + std::to_string(id));
      } else if (state == State::unknown) {
        report(s.location, "%" + std::to_string(id) + " is used before it is defined");
      } else {
        report(s.location,
               "%" + std::to_string(id) + ", defined at " + at(values_[id].location) +
                   ", is used outside the block that defines it; a local variable declared before that "
                   "block carries a value out of it");
      }
    }
    return good;
  }

  void declare(const Statement& s, const Placement& context) {
    if (s.index >= locals_.size()) {
      report(s.location, "a local variable is one of the kernel's " + std::to_string(locals_.size()) +
                             ", found number " + std::to_string(s.index));
      return;
    }
    Local& local = locals_[s.index];
    if (local.state != State::unknown) {
      report(s.location, "a local variable is declared twice, before at " + at(local.location));
      return;
    }
    local = {State::visible, {s.type, s.immediate}, context.task_loop, s.op == Op::shared, false, s.location};
    scope_locals_.push_back(s.index);
    if (s.op == Op::shared && s.immediate <= max_local_bytes) {
      shared_bytes_ += s.immediate * size_of(s.type);
      return;
    }
    if (s.immediate <= max_local_bytes / size_of(s.type)) local_bytes_ += s.immediate * size_of(s.type);
    if (local_bytes_ > max_local_bytes && too_many_locals_ == Location{}) too_many_locals_ = s.location;
  }

  void count_words(Local& local) {
    const std::uint64_t size = size_of(local.shape.type);
    if (local.in_words || size >= 4 || local.shape.count > max_local_bytes) return;
    local.in_words = true;
    shared_bytes_ += local.shape.count * (4 - size);
  }

  bool resolve_local(const Statement& s, const Placement& context) {
    const State state = s.index < locals_.size() ? locals_[s.index].state : State::unknown;
    const std::string verb = s.op == Op::set ? "set" : s.op == Op::shared_atomic ? "updated" : "read";
    if (state == State::unknown) {
      report(s.location, "a local variable is " + verb + " before it is declared");
      return false;
    }
    const Local& local = locals_[s.index];
    if (state == State::gone) {
      report(s.location, "the local variable declared at " + at(local.location) + " is " + verb +
                             " outside the block that declares it; declare it before that block");
      return false;
    }
    if (s.op == Op::shared_atomic && !local.shared) {
      report(s.location,
             "'shared_atomic' updates memory that a group shares, found the local variable declared at " +
                 at(local.location) + ", which each thread has for itself; assign to it");
      return false;
    }
    if (is_exchange(s.op) && (local.shared || local.task_loop != context.task_loop)) {
      report(s.location, quoted_name(s.op) +
                             " reads a local variable of another thread, found one declared at " +
                             at(local.location) + " that the threads share; declare it inside the loop");
      return false;
    }
    if (s.op == Op::shared_atomic) count_words(locals_[s.index]);
    if (s.op == Op::set && context.task_loop != local.task_loop) {
      report(s.location,
             "the local variable declared at " + at(local.location) + " is set inside the parallel loop at " +
                 at(context.task_loop->location) +
                 ", whose iterations would race for it; use a reduction, or an atomic on an array element, "
                 "or declare the variable inside the loop");
      return false;
    }
    return true;
  }

  // ---- the walk

  void walk(const Block& block, const Placement& context) {
    const std::size_t values = scope_values_.size();
    const std::size_t locals = scope_locals_.size();
    const Location where = context.enclosing == nullptr ? Location{} : context.enclosing->location;
    if (context.enclosing == nullptr || context.enclosing->op != Op::repeat)
      for (const ValueId id : block.arguments) define(id, ScalarType::i64, where);
    const Statement* ended_by = nullptr;
    for (const Statement& s : block.statements) {
      if (full()) break;
      if (!known(s.op)) {
        report(s.location, "there is no operation number " + std::to_string(static_cast<int>(s.op)));
        continue;
      }
      if (ended_by != nullptr) {
        report(s.location, "nothing may follow " + quoted_name(ended_by->op) + " in its block, found " +
                               quoted_name(s.op) + ", which never runs");
        break;
      }
      statement(s, context);
      if (s.op == Op::break_ || s.op == Op::continue_ || s.op == Op::yield) ended_by = &s;
    }
    const bool cut_short = ended_by != nullptr && ended_by != &block.statements.back();
    if (!cut_short) check_end(block, context, where);
    leave_values(values);
    for (; scope_locals_.size() > locals; scope_locals_.pop_back())
      locals_[scope_locals_.back()].state = State::gone;
  }

  void check_end(const Block& block, const Placement& context, const Location& where) {
    if (context.ends == Placement::Ends::open) return;
    if (!block.statements.empty()) {
      const Op last = block.statements.back().op;
      if (last == Op::yield || (last == Op::continue_ && context.ends == Placement::Ends::reduction)) return;
    }
    report(where,
           context.ends == Placement::Ends::condition
               ? "the condition of " + quoted_name(context.enclosing->op) +
                     " ends in 'yield' of a bool, found none at its end"
               : "the body of 'reduce' ends in 'yield' of the iteration's value, found none at its end");
  }

  void statement(const Statement& s, const Placement& context) {
    check_location(s.location);
    if (s.type > ScalarType::f64) {
      report(s.location, "there is no scalar type number " + std::to_string(static_cast<int>(s.type)));
      return;
    }
    std::vector<ScalarType> types;
    types.reserve(s.operands.size());
    bool usable = resolve(s, types);
    usable = check_bodies(s) && usable;
    const bool by_local = names_local(s) && s.op != Op::local && s.op != Op::shared && s.op != Op::threads;
    if (by_local) usable = resolve_local(s, context) && usable;
    if (usable) {
      const std::string wrong =
          check_operation(kernel_, s, types, by_local ? locals_[s.index].shape : LocalShape{});
      if (!wrong.empty()) {
        report(s.location, wrong);
        usable = false;
      }
    }
    if (is_exchange(s.op)) exchanged_.insert(s.type);
    const std::string misplaced = check_placement(kernel_, s, types, context, task_);
    if (!misplaced.empty()) report(s.location, misplaced);
    if (s.op == Op::local || s.op == Op::shared) declare(s, context);
    descend(s, context);
    if (usable && is_group_loop(s)) check_group(s);
    check_result(s);
  }

  bool check_bodies(const Statement& s) {
    const int wanted = info(s.op).bodies;
    const std::string name = quoted_name(s.op);
    if (wanted < 0 && !s.bodies.empty() && s.op == Op::region) {
      for (const Block& block : s.bodies) {
        if (!block.arguments.empty()) {
          report(s.location, "the blocks of 'region' take no arguments");
          return false;
        }
      }
      return true;
    }
    if (wanted < 0 ? s.bodies.empty() : s.bodies.size() != static_cast<std::size_t>(wanted)) {
      report(s.location, name + " has " +
                             (wanted < 0 ? "at least 1 block" : std::to_string(wanted) + " blocks") +
                             ", found " + std::to_string(s.bodies.size()));
      return false;
    }
    for (const Block& block : s.bodies) {
      const std::size_t found = block.arguments.size();
      const bool loop = s.op == Op::parallel || s.op == Op::reduce;  // by rank, see operation_rules
      if (s.op == Op::repeat) {
        const bool first = &block == &s.bodies.front();
        if (s.bodies.size() <= 2 && found == (first ? 1u : 0u)) continue;
        report(s.location,
               "'repeat' has a body, or a condition and a body, of which the first takes the number of the "
               "repetition; found " +
                   std::to_string(s.bodies.size()) + " blocks, one with " + std::to_string(found) +
                   " arguments");
        return false;
      }
      if (!loop && found != (s.op == Op::for_ ? 1u : 0u)) {
        report(s.location, "the blocks of " + name + " take " +
                               (s.op == Op::for_ ? "the index" : "no arguments") + ", found " +
                               std::to_string(found) + " arguments");
        return false;
      }
    }
    return true;
  }

  void check_result(const Statement& s) {
    const bool gives = info(s.op).result != ResultRule::none;
    if (gives && s.result == no_value) {
      report(s.location, quoted_name(s.op) + " gives a result, found no value for it");
    } else if (!gives && s.result != no_value) {
      report(s.location, quoted_name(s.op) + " gives no result, found %" + std::to_string(s.result));
    } else if (gives) {
      define(s.result, s.type, s.location);
      if (s.result < values_.size()) values_[s.result].definition = &s;
    }
  }

  bool is_constant(ValueId id, std::uint64_t value) const {
    const Statement* s = id < values_.size() ? values_[id].definition : nullptr;
    return s != nullptr && s->op == Op::constant && s->immediate == value;
  }

  void check_group(const Statement& s) {
    const std::size_t first = s.bodies[0].arguments.size() - s.component;
    for (std::size_t d = 0; d < s.component; ++d) {
      const std::uint64_t extent = thread_extent(s, d);
      if (is_constant(s.operands[2 * (first + d)], 0) && is_constant(s.operands[2 * (first + d) + 1], extent))
        continue;
      report(s.location, "index " + std::to_string(first + d) + " of the group loop runs over the " +
                             std::to_string(extent) +
                             " threads of a group, so its bounds are the constants 0 and " +
                             std::to_string(extent));
    }
    std::uint64_t exchanged = 0;  // code of GPUs may exchange values through shared memory
    for (const ScalarType type : exchanged_) exchanged += group_threads(s) * size_of(type);
    if (shared_bytes_ + exchanged > max_shared_bytes) {
      report(s.location,
             "the threads of a group share at most " + std::to_string(max_shared_bytes) + " bytes, found " +
                 std::to_string(shared_bytes_) +
                 (exchanged != 0 ? " and " + std::to_string(exchanged) + " for exchanged values" : "") +
                 "; use smaller tiles or an array parameter");
    }
    shared_bytes_ = 0;
    exchanged_.clear();
    if (task_) return;
    const Uniformity uniformity(s, kernel_.options.check_bounds);
    for (const Uniformity::Fault& fault : uniformity.faults()) {
      report(
          fault.collective->location,
          quoted_name(fault.collective->op) +
              " is reached by all threads of a group or by none, found it in the " +
              quoted_name(fault.cause->op) + " at " + at(fault.cause->location) +
              ", which may differ between threads; move it out of there, or compute the condition from "
              "constants, scalars, extents, indices of groups, and elements at such indices of arrays that "
              "the loop does not write");
    }
  }

  void descend(const Statement& s, const Placement& context) {
    if (s.bodies.empty()) return;
    if (context.depth >= max_nesting) {
      report(s.location, "blocks are nested more than " + std::to_string(max_nesting) + " deep");
      return;
    }
    Placement inner = context;
    inner.enclosing = &s;
    inner.depth = context.depth + 1;
    inner.ends = Placement::Ends::open;
    switch (s.op) {
      case Op::for_:
        inner.sequential_loop = true;
        inner.condition = false;
        break;
      case Op::parallel:
      case Op::reduce:
        inner.task_loop = &s;
        inner.sequential_loop = false;
        inner.condition = false;
        if (s.op == Op::reduce) inner.ends = Placement::Ends::reduction;
        inner.yields = s.type;
        break;
      case Op::repeat:
        inner.repeat = &s;
        ++inner.repeats;
        break;
      case Op::phase:
        inner.in_phase = true;
        break;
      default:
        break;
    }
    // The number of a repetition is defined in the condition and in the body.
    const std::size_t values = scope_values_.size();
    if (s.op == Op::repeat)
      define(s.bodies[0].arguments.empty() ? no_value : s.bodies[0].arguments[0], ScalarType::i64,
             s.location);
    for (std::size_t i = 0; i < s.bodies.size(); ++i) {
      if (s.op == Op::repeat) {
        inner.ends = i == 0 && has_condition(s) ? Placement::Ends::condition : Placement::Ends::open;
        inner.yields = ScalarType::boolean;
      }
      if (s.op == Op::while_) {
        inner.sequential_loop = true;
        inner.condition = i == 0;
        inner.ends = i == 0 ? Placement::Ends::condition : Placement::Ends::open;
        inner.yields = ScalarType::boolean;
      }
      walk(s.bodies[i], inner);
    }
    leave_values(values);
  }

  void leave_values(std::size_t count) {
    for (; scope_values_.size() > count; scope_values_.pop_back())
      values_[scope_values_.back()].state = State::gone;
  }

  const Kernel& kernel_;
  bool task_;
  bool countable_ = true;
  std::vector<Value> values_;
  std::vector<Local> locals_;
  std::vector<ValueId> scope_values_;
  std::vector<std::uint32_t> scope_locals_;
  std::uint64_t local_bytes_ = 0;
  Location too_many_locals_;        ///< the first local variable above the limit
  std::uint64_t shared_bytes_ = 0;  // of the group loop
  std::set<ScalarType> exchanged_;  // likewise
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> verify(const Kernel& kernel) {
  Verifier verifier(kernel, kernel.value_count, kernel.local_count, false);
  verifier.header();
  verifier.body(kernel.body);
  std::vector<Diagnostic> diagnostics = verifier.take();
  if (diagnostics.empty() && kernel.options.deterministic) return order_dependences(kernel);
  return diagnostics;
}

std::vector<Diagnostic> verify_task(const Kernel& kernel, const Task& task) {
  Verifier verifier(kernel, task.value_count, task.local_count, true);
  verifier.body(task.body);
  std::vector<Diagnostic> diagnostics = verifier.take();
  check_task_shape(kernel, task, diagnostics);
  return diagnostics;
}

void verify_or_throw(const Kernel& kernel) {
  const std::vector<Diagnostic> diagnostics = verify(kernel);
  if (!diagnostics.empty()) throw_diagnostics(kernel, diagnostics);
}

}  // namespace weir::ir
