// SPDX-License-Identifier: Apache-2.0
#include "passes/touched_rows.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/groups.hpp"

namespace weir::passes {
namespace {

using ir::Op;

class Rows {
 public:
  explicit Rows(const ir::Kernel& kernel) : kernel_(kernel) {}

  void define_loop_index(ir::ValueId value, std::uint8_t dimension) { sums_[value] = {dimension, 0}; }

  void block(const ir::Block& block) {
    for (const ir::Statement& s : block.statements) {
      if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic) access(s);
      if (const std::optional<Sum> sum = sum_of(s)) sums_[s.result] = *sum;
      for (const ir::Block& body : s.bodies) this->block(body);
    }
  }

  std::map<std::uint32_t, TouchedRows> take() && { return std::move(rows_); }

 private:
  /// A loop index, if there is one, plus a constant.
  struct Sum {
    std::optional<std::uint8_t> dimension;
    std::int64_t constant = 0;
  };
  /// Larger constants have no use as distances, and sums of smaller ones do not overflow.
  static constexpr std::int64_t max_constant = std::int64_t{1} << 40;

  const Sum* known(ir::ValueId value) const {
    const auto found = sums_.find(value);
    return found == sums_.end() ? nullptr : &found->second;
  }

  std::optional<Sum> sum_of(const ir::Statement& s) const {
    if (s.type == ScalarType::i64 && s.op == Op::constant)
      return in_range({{}, static_cast<std::int64_t>(s.immediate)});
    if (s.op != Op::add && s.op != Op::sub) return {};
    const Sum *a = known(s.operands[0]), *b = known(s.operands[1]);
    if (!a || !b) return {};
    if (s.op == Op::sub)
      return b->dimension ? std::nullopt : in_range({a->dimension, a->constant - b->constant});
    if (a->dimension && b->dimension) return {};
    return in_range({a->dimension ? a->dimension : b->dimension, a->constant + b->constant});
  }

  static std::optional<Sum> in_range(Sum sum) {
    const bool fits = -max_constant <= sum.constant && sum.constant <= max_constant;
    return fits ? std::optional(sum) : std::nullopt;
  }

  void access(const ir::Statement& s) {
    if (unknown_.contains(s.index)) return;
    const Sum* const index = kernel_.parameters[s.index].rank == 0 ? nullptr : known(s.operands[0]);
    const auto found = rows_.find(s.index);
    if (!index || !index->dimension ||
        (found != rows_.end() && found->second.dimension != *index->dimension)) {
      unknown_.insert(s.index);
      rows_.erase(s.index);
    } else if (found == rows_.end()) {
      rows_[s.index] = {*index->dimension, index->constant, index->constant};
    } else {
      found->second.first = std::min(found->second.first, index->constant);
      found->second.last = std::max(found->second.last, index->constant);
    }
  }

  const ir::Kernel& kernel_;
  std::unordered_map<ir::ValueId, Sum> sums_;
  std::map<std::uint32_t, TouchedRows> rows_;
  std::set<std::uint32_t> unknown_;
};

}  // namespace

std::map<std::uint32_t, TouchedRows> touched_rows(const ir::Kernel& kernel, const ir::Task& task) {
  if (task.kind != ir::TaskKind::parallel && task.kind != ir::TaskKind::reduce_partial) return {};
  const ir::Statement& loop = task.body.statements.back();
  if (ir::is_group_loop(loop)) return {};
  Rows rows(kernel);
  const std::vector<ir::ValueId>& indices = loop.bodies.front().arguments;
  for (std::size_t d = 0; d < indices.size(); ++d)
    rows.define_loop_index(indices[d], static_cast<std::uint8_t>(d));
  rows.block(task.body);
  return std::move(rows).take();
}

}  // namespace weir::passes
