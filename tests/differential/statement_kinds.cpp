// SPDX-License-Identifier: Apache-2.0
#include "statement_kinds.hpp"

#include <map>
#include <set>
#include <vector>

#include "ir/groups.hpp"
#include "ir/evaluate.hpp"
#include "ir/prints.hpp"

namespace weir::test {
namespace {

using ir::Op;

class Collector {
 public:
  Collector(const ir::Kernel& kernel, std::uint32_t values) : kernel_(kernel), types_(values) {}

  /// A statement before the loop; only values from other tasks count.
  void skip(const ir::Statement& s) {
    if (s.op == Op::scratch_load) kinds_.set(kind_of(s.op));
    define(s);
  }
  /// A loop whose body follows.
  void enter_loop(const ir::Statement& s) {
    group_threads_ = ir::is_group_loop(s) ? ir::group_threads(s) : 1;
  }
  void add(const ir::Block& block) {
    for (const ir::ValueId id : block.arguments) types_.at(id) = ScalarType::i64;
    for (const ir::Statement& s : block.statements) add(s);
  }
  Kinds kinds() const {
    Kinds kinds = kinds_;
    for (const ir::Statement* s : kept_)
      if (!masks_.contains(s->index)) kinds.set(s->immediate > 1 ? kept_array_kind : kept_local_kind);
    return kinds;
  }

 private:
  void add(const ir::Statement& s) {
    switch (s.op) {
      case Op::math:
        kinds_.set(ir::is_host_evaluable(s) ? exact_math_kind : library_math_kind);
        break;
      case Op::atomic:
        kinds_.set(kind_of(static_cast<ir::AtomicKind>(s.immediate)));
        if (size_of(s.type) < 4) kinds_.set(narrow_atomic_kind);
        break;
      case Op::shared_atomic:
        kinds_.set(first_shared_atomic_kind + static_cast<Kind>(s.immediate));
        if (size_of(s.type) < 4) kinds_.set(narrow_shared_atomic_kind);
        break;
      case Op::barrier:
        kinds_.set(s.immediate == 0           ? kind_of(s.op)
                   : group_threads_ % 64 == 0 ? wave_barrier_kind
                                              : subgroup_barrier_kind);
        if (branches_ != 0) kinds_.set(barrier_in_branch_kind);
        if (loops_ != 0) kinds_.set(barrier_in_loop_kind);
        break;
      case Op::shuffle:
        kinds_.set(group_threads_ % 64 == 0 ? wave_shuffle_kind : kind_of(s.op));
        break;
      case Op::ballot:
        kinds_.set(group_threads_ % 64 == 0 ? wave_ballot_kind : kind_of(s.op));
        break;
      case Op::threads:
        if (s.immediate == 0) break;
        kinds_.set(ended_thread_kind);
        masks_.insert(s.index);
        break;
      case Op::if_:
        if (!ir::only_prints(s)) kinds_.set(kind_of(s.op));
        break;
      case Op::parallel:
        enter_loop(s);
        break;
      case Op::yield:
      case Op::reduce:
      case Op::region:
      case Op::repeat:
      case Op::phase:
      case Op::repetition:
      case Op::failed:
        break;
      default:
        kinds_.set(kind_of(s.op));
    }
    if (s.op == Op::local && s.immediate > 1) kinds_.set(local_array_kind);
    if (s.op == Op::local && s.immediate >= min_matrix) matrices_.insert(s.index);
    if (s.op == Op::set && loops_ > 0 && matrices_.contains(s.index)) kinds_.set(local_matrix_kind);
    if (s.op == Op::load) loads_[s.result] = &s;
    if (s.op == Op::select && differ(loaded(s.operands.at(1)), loaded(s.operands.at(2))))
      kinds_.set(chosen_read_kind);
    if (s.op == Op::if_ && differ(only_store(s.bodies.at(0)), only_store(s.bodies.at(1))))
      kinds_.set(chosen_write_kind);
    if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic) {
      const ElementType& element = kernel_.parameters.at(s.index).element;
      kinds_.set(kind_of(element.scalar));
      if (kernel_.parameters[s.index].rank == 0) kinds_.set(single_element_kind);
      if (element.shape == ElementType::Shape::vector) kinds_.set(vector_kind);
      if (element.shape == ElementType::Shape::matrix) kinds_.set(matrix_kind);
    }
    define(s);
    if (s.result != ir::no_value) kinds_.set(kind_of(types_[s.result]));
    if (s.op == Op::local && s.component == 2) kinds_.set(kept_value_kind);
    if (s.op == Op::local && s.component == 1) kept_.push_back(&s);
    const bool loop = s.op == Op::for_ || s.op == Op::while_;
    branches_ += s.op == Op::if_;
    loops_ += loop;
    for (const ir::Block& body : s.bodies) add(body);
    branches_ -= s.op == Op::if_;
    loops_ -= loop;
  }

  const ir::Statement* loaded(ir::ValueId id) const {
    const auto found = loads_.find(id);
    return found == loads_.end() ? nullptr : found->second;
  }
  /// The store of a block `if %x { store ... }`, as the search for a component ends.
  static const ir::Statement* only_store(const ir::Block& block) {
    if (block.statements.empty() || block.statements.back().op != Op::if_) return nullptr;
    const ir::Block& chosen = block.statements.back().bodies.at(0);
    return chosen.statements.size() == 1 && chosen.statements[0].op == Op::store ? &chosen.statements[0]
                                                                                 : nullptr;
  }
  /// Accesses of two components of one array.
  static bool differ(const ir::Statement* a, const ir::Statement* b) {
    return a && b && a->index == b->index && a->component != b->component;
  }

  void define(const ir::Statement& s) {
    if (s.result == ir::no_value) return;
    const ir::ResultRule rule = ir::info(s.op).result;
    types_.at(s.result) = rule == ir::ResultRule::boolean ? ScalarType::boolean
                          : rule == ir::ResultRule::same  ? types_.at(s.operands.at(0))
                                                          : s.type;
  }

  const ir::Kernel& kernel_;
  std::vector<ScalarType> types_;
  std::map<ir::ValueId, const ir::Statement*> loads_;
  std::vector<const ir::Statement*> kept_;  ///< locals of each thread that are declared for the whole group
  static constexpr std::uint64_t min_matrix = 16;
  std::set<std::uint32_t> matrices_;        ///< local arrays of so many elements
  std::set<std::uint32_t> masks_;           ///< locals that record which threads have ended
  int branches_ = 0, loops_ = 0;            ///< around the statement
  std::uint64_t group_threads_ = 1;  ///< of the loop around the statement, if it is one of groups
  Kinds kinds_;
};

}  // namespace

bool is_kind(Kind kind) noexcept {
  // Kinds of their own stand for functions and atomics. No form of code treats the numbers and failures of
  // repetitions in its own way; chains have them. Tasks contain no algorithms.
  for (const Op op :
       {Op::math, Op::atomic, Op::shared_atomic, Op::threads, Op::repetition, Op::failed, Op::algorithm})
    if (kind == static_cast<Kind>(op)) return false;
  return true;
}

std::string kind_name(Kind kind) {
  if (kind < op_kinds) return std::string(ir::info(static_cast<Op>(kind)).mnemonic);
  if (kind == assert_kind) return "assert";
  if (kind == print_kind) return "print";
  if (kind == exact_math_kind) return "math, exact";
  if (kind == library_math_kind) return "math, library";
  if (kind < local_array_kind)
    return "atomic." + std::string(to_string(static_cast<ir::AtomicKind>(kind - first_atomic_kind)));
  if (kind == local_array_kind) return "local array";
  if (kind == local_matrix_kind) return "large local array in a loop";
  if (kind < vector_kind)
    return "type " + std::string(to_string(static_cast<ScalarType>(kind - first_type_kind)));
  if (kind == chosen_read_kind) return "component read by index";
  if (kind == single_element_kind) return "array of rank 0";
  if (kind == chosen_write_kind) return "component written by index";
  if (kind >= first_shared_atomic_kind && kind < barrier_in_branch_kind)
    return "shared_atomic." +
           std::string(to_string(static_cast<ir::AtomicKind>(kind - first_shared_atomic_kind)));
  if (kind == barrier_in_branch_kind) return "barrier in a branch";
  if (kind == barrier_in_loop_kind) return "barrier in a loop";
  if (kind == kept_value_kind) return "value kept over a barrier";
  if (kind == kept_local_kind) return "local kept over a barrier";
  if (kind == kept_array_kind) return "local array kept over a barrier";
  if (kind == ended_thread_kind) return "thread ended before a barrier";
  if (kind == wave_shuffle_kind) return "shuffle in whole waves";
  if (kind == wave_ballot_kind) return "ballot in whole waves";
  if (kind == wave_barrier_kind) return "barrier of a sub-group in whole waves";
  if (kind == subgroup_barrier_kind) return "barrier of a sub-group";
  if (kind == narrow_atomic_kind) return "atomic on 1 or 2 bytes";
  if (kind == narrow_shared_atomic_kind) return "shared_atomic on 1 or 2 bytes";
  return kind == vector_kind ? "vec" : "mat";
}

Kinds kinds_of(const ir::Kernel& kernel, const ir::Task& task) {
  Collector collector(kernel, task.value_count);
  const auto& statements = task.body.statements;
  const bool loop = task.kind == ir::TaskKind::parallel || task.kind == ir::TaskKind::reduce_partial;
  if (!loop || statements.empty()) {
    collector.add(task.body);
    return collector.kinds();
  }
  for (std::size_t i = 0; i + 1 < statements.size(); ++i) collector.skip(statements[i]);
  collector.enter_loop(statements.back());
  collector.add(statements.back().bodies.at(0));
  return collector.kinds();
}

}  // namespace weir::test
