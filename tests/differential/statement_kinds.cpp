// SPDX-License-Identifier: Apache-2.0
#include "statement_kinds.hpp"

#include <map>
#include <vector>

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
  void add(const ir::Block& block) {
    for (const ir::ValueId id : block.arguments) types_.at(id) = ScalarType::i64;
    for (const ir::Statement& s : block.statements) add(s);
  }
  const Kinds& kinds() const { return kinds_; }

 private:
  void add(const ir::Statement& s) {
    switch (s.op) {
      case Op::math:
        kinds_.set(ir::is_host_evaluable(s) ? exact_math_kind : library_math_kind);
        break;
      case Op::atomic:
        kinds_.set(kind_of(static_cast<ir::AtomicKind>(s.immediate)));
        break;
      case Op::if_:
        if (!ir::only_prints(s)) kinds_.set(kind_of(s.op));
        break;
      case Op::yield:
      case Op::parallel:
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
    for (const ir::Block& body : s.bodies) add(body);
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
  Kinds kinds_;
};

}  // namespace

bool is_kind(Kind kind) noexcept {
  // Statements of group loops, which these kernels do not have; tests/language/group_test.cpp has them.
  for (const Op op : {Op::shared, Op::shared_atomic, Op::barrier, Op::shuffle, Op::threads})
    if (kind == static_cast<Kind>(op)) return false;
  // Numbers and failures of repetitions, which no form of code treats in its own way; chains have them.
  for (const Op op : {Op::repetition, Op::failed})
    if (kind == static_cast<Kind>(op)) return false;
  return kind != static_cast<Kind>(Op::math) && kind != static_cast<Kind>(Op::atomic);
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
  if (kind < vector_kind)
    return "type " + std::string(to_string(static_cast<ScalarType>(kind - first_type_kind)));
  if (kind == chosen_read_kind) return "component read by index";
  if (kind == single_element_kind) return "array of rank 0";
  if (kind == chosen_write_kind) return "component written by index";
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
  collector.add(statements.back().bodies.at(0));
  return collector.kinds();
}

}  // namespace weir::test
