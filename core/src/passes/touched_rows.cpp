// SPDX-License-Identifier: Apache-2.0
#include "passes/touched_rows.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/groups.hpp"
#include "passes/dependence.hpp"
#include "passes/linear_form.hpp"

namespace weir::passes {
namespace {

/// Larger distances have no use, and could overflow when they are added to an iteration.
constexpr std::int64_t max_distance = std::int64_t{1} << 40;

/// The rows of one access: nothing unless its first index is an index of `loop` plus a constant.
std::optional<TouchedRows> rows_of(const LinearForms& forms, const ir::Kernel& kernel,
                                   const ir::Statement& loop, const ir::Statement& access) {
  if (kernel.parameters[access.index].rank == 0) return {};
  const LinearForm& row = forms.of(access.operands[0]);
  const auto distance = static_cast<std::int64_t>(row.constant);
  if (row.terms.size() != 1 || row.terms.front().factor != 1 || distance < -max_distance ||
      distance > max_distance)
    return {};
  const std::vector<ir::ValueId>& indices = loop.bodies.front().arguments;
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (forms.symbol(indices[d]) == row.terms.front().symbol)
      return TouchedRows{static_cast<std::uint8_t>(d), distance, distance};
  return {};
}

}  // namespace

std::map<std::uint32_t, TouchedRows> touched_rows(const ir::Kernel& kernel, const ir::Task& task) {
  if (task.kind != ir::TaskKind::parallel && task.kind != ir::TaskKind::reduce_partial) return {};
  const ir::Statement& loop = task.body.statements.back();
  if (ir::is_group_loop(loop)) return {};
  const LinearForms forms(task);
  std::map<std::uint32_t, TouchedRows> rows;
  std::set<std::uint32_t> unknown;
  for (const ir::Statement& statement : task.body.statements)
    for (const ir::Statement* const access : accesses_of(statement)) {
      const auto now = rows_of(forms, kernel, loop, *access);
      const auto at = rows.try_emplace(access->index, now.value_or(TouchedRows{})).first;
      if (!now || at->second.dimension != now->dimension) {
        unknown.insert(access->index);
        continue;
      }
      at->second.first = std::min(at->second.first, now->first);
      at->second.last = std::max(at->second.last, now->last);
    }
  for (const std::uint32_t parameter : unknown) rows.erase(parameter);
  return rows;
}

}  // namespace weir::passes
