// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/long_bodies.hpp"

#include <algorithm>
#include <unordered_set>

#include "codegen/lowering/threads/packets.hpp"
#include "codegen/lowering/threads/staging.hpp"
#include "ir/counters.hpp"
#include "ir/groups.hpp"
#include "ir/sums.hpp"

namespace weir::codegen {
namespace {

/// More than a loop has that is written by hand. Twenty merged loops of a simulator have about 4,000.
constexpr std::size_t long_statements = 1000;

std::size_t count(const ir::Block& block) {
  std::size_t sum = block.statements.size();
  for (const ir::Statement& s : block.statements)
    for (const ir::Block& body : s.bodies) sum += count(body);
  return sum;
}

/// Loads that may come early. Each takes a register until its value is used.
constexpr std::size_t max_early_loads = 96;

bool computes_indices(const ir::Statement& s) {
  return s.op == ir::Op::constant || (s.op < ir::Op::load && s.type == ScalarType::i64);
}

class EarlyLoads {
 public:
  explicit EarlyLoads(const ir::Kernel& kernel)
      : is_written_(kernel.parameters.size()), may_have_ended_(kernel.options.check_bounds) {}

  std::vector<const ir::Statement*> of(const ir::Block& body) {
    std::vector<const ir::Statement*> early, late;
    std::size_t loads = 0;
    for (const ir::Statement& s : body.statements) {
      const bool is_load = s.op == ir::Op::load && !is_written_[s.index] && loads < max_early_loads;
      if (!may_have_ended_ && (is_load || computes_indices(s)) && uses_early_values(s)) {
        early.push_back(&s);
        loads += is_load;
        continue;
      }
      late.push_back(&s);
      if (s.result != ir::no_value) late_values_.insert(s.result);
      note(s);
    }
    early.insert(early.end(), late.begin(), late.end());
    return early;
  }

 private:
  bool uses_early_values(const ir::Statement& s) const {
    return std::ranges::none_of(s.operands, [&](ir::ValueId id) { return late_values_.contains(id); });
  }
  void note(const ir::Statement& s) {
    if (s.op == ir::Op::store || s.op == ir::Op::atomic) is_written_[s.index] = true;
    may_have_ended_ |= s.op == ir::Op::assert_ || s.op == ir::Op::continue_;
    for (const ir::Block& body : s.bodies)
      for (const ir::Statement& inner : body.statements) note(inner);
  }

  std::unordered_set<ir::ValueId> late_values_;
  std::vector<bool> is_written_;  // by parameter
  bool may_have_ended_;           // the iteration; with checks of bounds, each access can end it
};

}  // namespace

std::vector<const ir::Statement*> early_loads(const ir::Kernel& kernel, const ir::Block& body) {
  return EarlyLoads(kernel).of(body);
}

bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop,
                   const LaunchAssumptions& assumptions) {
  return loop.op == ir::Op::parallel && !ir::is_group_loop(loop) &&
         count(loop.bodies[0]) >= long_statements && packet_width(kernel, loop, assumptions) == 1 &&
         !loads_several_rows(loop) && !has_staged_arrays(kernel, loop, assumptions) &&
         !ir::counters_of(kernel, loop) && ir::sums_of(kernel, loop).empty();
}

}  // namespace weir::codegen
