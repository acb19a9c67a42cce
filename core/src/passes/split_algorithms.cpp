// SPDX-License-Identifier: Apache-2.0
#include "passes/split_algorithms.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/algorithm.hpp"
#include "ir/groups.hpp"
#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

/// The statements between two algorithms.
struct Stretch {
  std::vector<const Statement*> statements;
  std::set<ValueId> values;                              // that any of its statements takes
  std::set<std::uint32_t> locals;                        // that any of its statements names
  std::set<std::uint32_t> changed;                       // of these: declared or set
  std::map<std::uint32_t, const Statement*> recomputed;  // of earlier stretches, in program order
  std::set<ValueId> imported;                            // of earlier stretches, from arrays
};

class AlgorithmSplitter {
 public:
  explicit AlgorithmSplitter(const ir::Kernel& kernel) : kernel_(kernel) {
    defined_.resize(kernel.value_count);
    declared_.resize(kernel.local_count);
  }

  SplitKernel run() {
    stretches_.emplace_back();
    cut(kernel_.body);
    find_carried();
    for (std::uint32_t i = 0; i < stretches_.size(); ++i) {
      result_.steps.emplace_back(make_part(i));
      if (i == algorithms_.size()) break;
      const ir::Algorithm& algorithm = ir::algorithm_of(kernel_, *algorithms_[i]);
      failed_before_ |= ir::can_fail(algorithm.kind);
      result_.steps.emplace_back(AlgorithmStep{algorithm, algorithms_[i]->location});
    }
    return std::move(result_);
  }

 private:
  struct Definition {
    const Statement* statement = nullptr;  // null if it is not directly in the body
    std::uint32_t stretch = 0;
    std::uint32_t order = 0;  // in the program
  };

  /// Stream blocks with algorithms run one after the other.
  void cut(const Block& block) {
    for (const Statement& s : block.statements) {
      if (s.op == Op::region && has_algorithm(s)) {
        for (const Block& stream_block : s.bodies) cut(stream_block);
      } else if (s.op == Op::algorithm) {
        algorithms_.push_back(&s);
        stretches_.emplace_back();
      } else {
        add(s);
      }
    }
  }

  void add(const Statement& s) {
    const auto number = static_cast<std::uint32_t>(stretches_.size() - 1);
    stretches_.back().statements.push_back(&s);
    if (s.result != ir::no_value) defined_[s.result] = {&s, number, order_};
    if (s.op == Op::local) declared_[s.index] = {&s, number, order_};
    ++order_;
    find_uses(s, stretches_.back());
  }

  static void find_uses(const Statement& s, Stretch& stretch) {
    stretch.values.insert(s.operands.begin(), s.operands.end());
    if (ir::names_local(s)) {
      stretch.locals.insert(s.index);
      if (s.op == Op::local || s.op == Op::set) stretch.changed.insert(s.index);
    }
    for (const Block& body : s.bodies)
      for (const Statement& inner : body.statements) find_uses(inner, stretch);
  }

  /// Whether a part can compute the value of another part itself, at little cost and with the same result.
  bool is_recomputable(ValueId id) {
    const auto [known, is_new] = recomputable_.try_emplace(id, false);
    if (!is_new) return known->second;
    const Statement* const s = defined_[id].statement;
    const bool pure =
        s != nullptr && is_pure(s->op) && s->op != Op::launch_key &&
        std::ranges::all_of(s->operands, [this](ValueId operand) { return is_recomputable(operand); });
    return recomputable_[id] = pure;
  }

  // ---- what is carried

  void find_carried() {
    for (std::uint32_t i = 1; i < stretches_.size(); ++i) {
      Stretch& stretch = stretches_[i];
      const std::vector<ValueId> values(stretch.values.begin(), stretch.values.end());
      for (const ValueId id : values) import_value(id, i);
      for (const std::uint32_t local : stretch.locals) {
        const Definition& declaration = declared_[local];
        if (declaration.statement && declaration.stretch < i && !locals_.contains(local))
          locals_[local] = carry(*declaration.statement, declaration.statement->immediate);
      }
    }
  }

  void import_value(ValueId id, std::uint32_t stretch) {
    const Definition& definition = defined_[id];
    if (!definition.statement || definition.stretch >= stretch) return;
    if (!is_recomputable(id)) {
      stretches_[stretch].imported.insert(id);
      if (!values_.contains(id)) values_[id] = carry(*definition.statement, 1);
      return;
    }
    if (!stretches_[stretch].recomputed.emplace(definition.order, definition.statement).second) return;
    for (const ValueId operand : definition.statement->operands) import_value(operand, stretch);
  }

  /// Elements of an array of the parts.
  struct Place {
    std::uint32_t array = 0;  // a parameter
    std::uint64_t first = 0;
  };

  /// One array for each type, since the number of parameters is limited.
  Place carry(const Statement& definition, std::uint64_t count) {
    auto& all = result_.carried;
    auto array = std::ranges::find(all, definition.type, &CarriedArray::type);
    if (array == all.end()) array = all.insert(array, {definition.type, 0});
    const Place place{static_cast<std::uint32_t>(kernel_.parameters.size()) +
                          static_cast<std::uint32_t>(array - all.begin()),
                      static_cast<std::uint64_t>(array->count)};
    array->count += static_cast<std::int64_t>(count);
    return place;
  }

  // ---- the parts

  ir::Kernel make_part(std::uint32_t number) {
    ir::Kernel part;
    part.name = kernel_.name;
    part.options = kernel_.options;
    part.parameters = kernel_.parameters;
    part.strings = kernel_.strings;
    part.files = kernel_.files;
    part.value_count = kernel_.value_count;
    part.local_count = kernel_.local_count;
    for (std::size_t i = 0; i < result_.carried.size(); ++i) part.parameters.push_back(carried_parameter(i));
    part_ = &part;
    out_ = &part.body.statements;
    const Stretch& stretch = stretches_[number];
    for (const auto& [order, s] : stretch.recomputed) out_->push_back(*s);
    for (const ValueId id : stretch.imported) load(values_[id], constant(values_[id].first), id);
    for (const auto& [local, place] : locals_) {
      if (declared_[local].stretch >= number || !stretch.locals.contains(local)) continue;
      out_->push_back(*declared_[local].statement);
      move_local(local, place, true);
    }
    const bool may_fail = can_fail(stretch);
    if (may_fail) clear_exports(number);
    unstored_.clear();
    changed_.clear();
    for (const Statement* s : stretch.statements) {
      if (ends_part_if_it_fails(*s) && passes::can_fail(*s, kernel_.options)) store_exports(number);
      out_->push_back(*s);
      if (failed_before_ && !may_fail) stop_repeats_after_failures(out_->back());
      note_exports(*s);
    }
    store_exports(number);
    failed_before_ |= may_fail;
    return part;
  }

  // A failed assertion outside of parallel loops leaves out the statements after it. Later parts find what
  // was assigned before, and 0 for what is first assigned after it.

  static bool ends_part_if_it_fails(const Statement& s) { return s.op != Op::parallel && s.op != Op::reduce; }

  void note_exports(const Statement& s) {
    if (s.result != ir::no_value && values_.contains(s.result)) unstored_.insert(s.result);
    Stretch uses;
    find_uses(s, uses);
    changed_.merge(uses.changed);
  }

  /// Stores what has changed since the last time, and what later parts need.
  void store_exports(std::uint32_t number) {
    for (const ValueId id : unstored_) store(values_[id], constant(values_[id].first), id);
    for (const std::uint32_t local : changed_)
      if (exports(number, local)) move_local(local, locals_[local], false);
    unstored_.clear();
    changed_.clear();
  }

  bool exports(std::uint32_t number, std::uint32_t local) const {
    return locals_.contains(local) && stretches_[number].changed.contains(local) &&
           is_used_after(local, number);
  }

  bool can_fail(const Stretch& stretch) const {
    return std::ranges::any_of(stretch.statements,
                               [this](const Statement* s) { return passes::can_fail(*s, kernel_.options); });
  }

  void clear_exports(std::uint32_t number) {
    const auto clear = [this](const Statement& definition, const Place& place, std::uint64_t count) {
      for_each_element(place, count,
                       [&](ValueId at, ValueId) { store(place, at, constant(0, definition.type)); });
    };
    for (const auto& [id, place] : values_)
      if (defined_[id].stretch == number) clear(*defined_[id].statement, place, 1);
    for (const auto& [local, place] : locals_)
      if (declared_[local].stretch == number && exports(number, local))
        clear(*declared_[local].statement, place, declared_[local].statement->immediate);
  }

  /// A repetition ends once a statement of the kernel has failed. A part that cannot fail would not look for
  /// failures of earlier ones, so its conditions get an assertion, which holds.
  void stop_repeats_after_failures(Statement& s) {
    for (Block& body : s.bodies)
      for (Statement& inner : body.statements) stop_repeats_after_failures(inner);
    if (s.op != Op::repeat || !ir::has_condition(s)) return;
    Statement holds{Op::constant, ScalarType::boolean};
    holds.immediate = 1;
    holds.result = new_value();
    Statement assertion{Op::assert_};
    assertion.operands = {holds.result};
    assertion.index = static_cast<std::uint32_t>(part_->strings.size());
    part_->strings.emplace_back("no statement before has failed");
    holds.location = assertion.location = s.location;
    auto& condition = s.bodies[0].statements;
    condition.insert(condition.begin(), {std::move(holds), std::move(assertion)});
  }

  ir::Parameter carried_parameter(std::size_t i) const {
    ir::Parameter parameter;
    parameter.name = "carried_" + std::to_string(i);
    while (std::ranges::find(kernel_.parameters, parameter.name, &ir::Parameter::name) !=
           kernel_.parameters.end())
      parameter.name += '_';
    parameter.kind = ir::Parameter::Kind::array;
    parameter.element = {result_.carried[i].type};
    parameter.rank = 1;
    return parameter;
  }

  bool is_used_after(std::uint32_t local, std::uint32_t number) const {
    return std::any_of(stretches_.begin() + number + 1, stretches_.end(),
                       [&](const Stretch& stretch) { return stretch.locals.contains(local); });
  }

  ValueId new_value() { return part_->value_count++; }

  ValueId constant(std::uint64_t bits, ScalarType type = ScalarType::i64) {
    Statement s{Op::constant, type};
    s.immediate = bits;
    s.result = new_value();
    out_->push_back(s);
    return s.result;
  }

  ScalarType type_of(const Place& place) const {
    return result_.carried[place.array - kernel_.parameters.size()].type;
  }

  void load(const Place& place, ValueId at, ValueId result) {
    Statement s{Op::load, type_of(place)};
    s.index = place.array;
    s.operands = {at};
    s.result = result;
    out_->push_back(std::move(s));
  }
  void store(const Place& place, ValueId at, ValueId value) {
    Statement s{Op::store, type_of(place)};
    s.index = place.array;
    s.operands = {at, value};
    out_->push_back(std::move(s));
  }

  /// Copies a local variable from the array that carries it, or to it.
  void move_local(std::uint32_t local, const Place& place, bool from_array) {
    for_each_element(place, declared_[local].statement->immediate, [&](ValueId at, ValueId index) {
      const ValueId value = new_value();
      Statement access{from_array ? Op::set : Op::get, type_of(place)};
      access.index = local;
      if (index != ir::no_value) access.operands = {index};
      if (from_array) {
        load(place, at, value);
        access.operands.push_back(value);
        out_->push_back(std::move(access));
      } else {
        access.result = value;
        out_->push_back(std::move(access));
        store(place, at, value);
      }
    });
  }

  /// Appends the statements of make(at, index) for each of `count` elements: `at` in the array, `index` in a
  /// local array, or no_value for a single element.
  template <class Make>
  void for_each_element(const Place& place, std::uint64_t count, const Make& make) {
    if (count == 1) return make(constant(place.first), ir::no_value);
    Statement loop{Op::for_};
    loop.operands = {constant(0), constant(count), constant(1)};
    const ValueId index = new_value();
    std::vector<Statement>* const outer = out_;
    Block body;
    body.arguments = {index};
    out_ = &body.statements;
    Statement at{Op::add, ScalarType::i64};
    at.operands = {index, constant(place.first)};
    at.result = new_value();
    out_->push_back(at);
    make(at.result, index);
    out_ = outer;
    loop.bodies.push_back(std::move(body));
    out_->push_back(std::move(loop));
  }

  const ir::Kernel& kernel_;
  std::vector<Stretch> stretches_;
  std::vector<const Statement*> algorithms_;  // each ends a stretch
  std::uint32_t order_ = 0;
  std::vector<Definition> defined_;   // by value; of the body's own statements
  std::vector<Definition> declared_;  // by local variable, likewise
  std::map<ValueId, bool> recomputable_;
  std::map<ValueId, Place> values_;        // carried
  std::map<std::uint32_t, Place> locals_;  // carried, by local variable
  bool failed_before_ = false;             // an earlier part or algorithm may have failed
  std::set<ValueId> unstored_;             // of the part, until they are stored
  std::set<std::uint32_t> changed_;        // likewise, local variables
  SplitKernel result_;
  ir::Kernel* part_ = nullptr;
  std::vector<Statement>* out_ = nullptr;
};

}  // namespace

SplitKernel split_at_algorithms(const ir::Kernel& kernel) {
  return AlgorithmSplitter(kernel).run();
}

}  // namespace weir::passes
