// SPDX-License-Identifier: Apache-2.0
#include "passes/touched_boxes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/groups.hpp"
#include "passes/dependence.hpp"
#include "passes/linear_form.hpp"

namespace weir::passes {
namespace {

/// Larger distances have no use, and could overflow when they are added to an iteration.
constexpr std::int64_t max_distance = std::int64_t{1} << 40;

/// The indices of a task's accesses.
class Indices {
 public:
  explicit Indices(const ir::Task& task)
      : forms_(task), loop_(task.body.statements.back()), definitions_(task.value_count, nullptr) {
    gather(task.body);
  }

  TouchedBox box_of(const ir::Statement& access, std::size_t rank) const {
    TouchedBox box;
    for (std::size_t d = 0; d < rank; ++d)
      box[d] = indices_of(access.operands[d], access.index, static_cast<std::uint8_t>(d));
    return box;
  }

 private:
  void gather(const ir::Block& block) {
    for (const ir::Statement& s : block.statements) {
      if (s.result != ir::no_value) definitions_[s.result] = &s;
      if (s.op == ir::Op::extent) extents_[{s.index, s.component}] = s.result;
      for (const ir::Block& body : s.bodies) gather(body);
    }
  }

  std::optional<TouchedIndices> indices_of(ir::ValueId value, std::uint32_t array,
                                           std::uint8_t dimension) const {
    if (const auto exact = loop_index(forms_.of(value))) return exact;
    const ir::Statement* const s = definitions_[value];
    if (!s || s->type != ScalarType::i64 || (s->op != ir::Op::max && s->op != ir::Op::min)) return {};
    for (const std::size_t limit : {0u, 1u})
      if (s->op == ir::Op::max ? is_zero(s->operands[limit])
                               : is_last(s->operands[limit], array, dimension)) {
        auto inner = indices_of(s->operands[1 - limit], array, dimension);
        if (inner) inner->clamped = true;
        return inner;
      }
    return {};
  }

  std::optional<TouchedIndices> loop_index(const LinearForm& index) const {
    const auto distance = static_cast<std::int64_t>(index.constant);
    if (index.terms.size() != 1 || index.terms.front().factor != 1 || distance < -max_distance ||
        distance > max_distance)
      return {};
    const std::vector<ir::ValueId>& indices = loop_.bodies.front().arguments;
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (forms_.symbol(indices[d]) == index.terms.front().symbol)
        return TouchedIndices{static_cast<std::uint8_t>(d), distance, distance};
    return {};
  }

  bool is_zero(ir::ValueId value) const {
    return forms_.of(value).terms.empty() && forms_.of(value).constant == 0;
  }

  bool is_last(ir::ValueId value, std::uint32_t array, std::uint8_t dimension) const {
    const auto extent = extents_.find({array, dimension});
    if (extent == extents_.end()) return false;
    LinearForm one;
    one.constant = 1;
    return sum(forms_.of(value), one, 1) == forms_.of(extent->second);
  }

  LinearForms forms_;
  const ir::Statement& loop_;
  std::vector<const ir::Statement*> definitions_;                           // by value
  std::map<std::pair<std::uint32_t, std::uint32_t>, ir::ValueId> extents_;  // by array and dimension
};

void join(std::optional<TouchedIndices>& all, const std::optional<TouchedIndices>& more) {
  if (!all || !more || all->dimension != more->dimension) return all.reset();
  all->first = std::min(all->first, more->first);
  all->last = std::max(all->last, more->last);
  all->clamped |= more->clamped;
}

}  // namespace

std::map<std::uint32_t, TouchedBox> touched_boxes(const ir::Kernel& kernel, const ir::Task& task) {
  if (task.kind != ir::TaskKind::parallel && task.kind != ir::TaskKind::reduce_partial) return {};
  const ir::Statement& loop = task.body.statements.back();
  if (ir::is_group_loop(loop)) return {};
  const Indices indices(task);
  std::map<std::uint32_t, TouchedBox> boxes;
  for (const ir::Statement& statement : task.body.statements)
    for (const ir::Statement* const access : accesses_of(statement)) {
      const TouchedBox box = indices.box_of(*access, kernel.parameters[access->index].rank);
      const auto [at, is_first] = boxes.try_emplace(access->index, box);
      for (std::size_t d = 0; !is_first && d < box.size(); ++d) join(at->second[d], box[d]);
    }
  std::erase_if(boxes, [](const auto& entry) {
    return std::ranges::none_of(entry.second, [](const auto& touched) { return touched.has_value(); });
  });
  return boxes;
}

}  // namespace weir::passes
