// SPDX-License-Identifier: Apache-2.0
// Rough costs, in additions. The host only needs to distinguish iterations of tens of operations from
// thousands.
#include <algorithm>

#include "ir/prints.hpp"
#include "passes/argument_layout.hpp"

namespace weir::passes {

namespace {

constexpr std::uint64_t max_cost = 1'000'000'000;
constexpr std::uint64_t assumed_iterations = 256;  // of loops in phases
constexpr std::uint64_t assumed_trips = 16;        // of loops whose bounds are not constants

class Cost {
 public:
  explicit Cost(const ir::Task& task) : constants_(task.value_count), known_(task.value_count) {}

  std::uint64_t block(const ir::Block& block) {
    std::uint64_t sum = 0;
    for (const ir::Statement& s : block.statements) sum = std::min(sum + statement(s), max_cost);
    return sum;
  }
  bool exact() const { return exact_; }

 private:
  std::uint64_t statement(const ir::Statement& s) {
    using ir::Op;
    switch (s.op) {
      case Op::constant:
        constants_[s.result] = static_cast<std::int64_t>(s.immediate);
        known_[s.result] = s.type == ScalarType::i64;
        return 0;
      case Op::argument:
      case Op::extent:
      case Op::launch_key:
        return 0;
      case Op::div:
      case Op::rem:
        return 8;
      case Op::math:
        return 16;
      case Op::philox:
        return 40;
      case Op::load:
      case Op::store:
      case Op::scratch_load:
      case Op::scratch_store:
        return 2;
      case Op::atomic:
      case Op::shared_atomic:
      case Op::shuffle:
      case Op::ballot:
      case Op::print:
        return 16;
      case Op::threads:
      case Op::phase:
        return block(s.bodies[0]);
      case Op::region: {
        std::uint64_t sum = 0;
        for (const ir::Block& body : s.bodies) sum = std::min(sum + block(body), max_cost);
        return sum;
      }
      case Op::repetition:
        return 0;
      case Op::parallel:  // of a phase
      case Op::reduce:
        exact_ = false;
        return times(assumed_iterations, block(s.bodies[0]));
      case Op::repeat:
        exact_ = false;
        return times(assumed_trips, block(s.bodies[0]) + (ir::has_condition(s) ? block(s.bodies[1]) : 0));
      case Op::if_:
        if (ir::only_prints(s)) return 1;  // rarely
        return 1 + std::max(block(s.bodies[0]), block(s.bodies[1]));
      case Op::while_:
        exact_ = false;
        return times(assumed_trips, block(s.bodies[0]) + block(s.bodies[1]));
      case Op::for_:
        return times(trips(s), block(s.bodies[0]));
      default:
        return 1;
    }
  }

  static std::uint64_t times(std::uint64_t trips, std::uint64_t body) {
    return std::min(trips * (body + 1), max_cost);
  }

  std::uint64_t trips(const ir::Statement& s) {
    for (const ir::ValueId id : s.operands) {
      if (known_[id]) continue;
      exact_ = false;
      return assumed_trips;
    }
    const std::int64_t low = constants_[s.operands[0]], high = constants_[s.operands[1]],
                       step = constants_[s.operands[2]];
    if (step <= 0 || low >= high) return 0;
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return std::min((span - 1) / static_cast<std::uint64_t>(step) + 1, max_cost);
  }

  std::vector<std::int64_t> constants_;
  std::vector<bool> known_;
  bool exact_ = true;
};

/// The cost of an iteration of the loop at the end of a statement block. The statements before it run once
/// for each block of a launch; they are walked for their constants, not counted.
std::uint64_t iteration(Cost& cost, const ir::Block& block) {
  ir::Block constants;
  for (const ir::Statement& s : block.statements) {
    if (s.op == ir::Op::constant) constants.statements.push_back(s);
  }
  cost.block(constants);
  return cost.block(block.statements.back().bodies.front());
}

std::uint32_t at_least_one(std::uint64_t operations) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(operations, 1));
}

void add_phases(const ir::Task& task, const ir::Block& block, bool repeated, std::vector<TaskCost>& costs) {
  for (const ir::Statement& s : block.statements) {
    if (s.op == ir::Op::region || s.op == ir::Op::repeat) {
      for (const ir::Block& body : s.bodies)
        add_phases(task, body, repeated || s.op == ir::Op::repeat, costs);
    } else if (s.op == ir::Op::phase && !s.bodies[0].statements.empty()) {
      const ir::Op last = s.bodies[0].statements.back().op;
      if (last != ir::Op::parallel && last != ir::Op::reduce) continue;
      Cost cost(task);
      const std::uint64_t operations = iteration(cost, s.bodies[0]);
      costs.push_back({at_least_one(operations), cost.exact() && !repeated});
    }
  }
}

}  // namespace

TaskCost estimate_cost(const ir::Task& task) {
  Cost cost(task);
  std::uint64_t operations = 1;
  if (task.kind == ir::TaskKind::serial || task.kind == ir::TaskKind::phases) {
    operations = cost.block(task.body);
  } else if (task.kind == ir::TaskKind::reduce_final) {
    operations = std::min(ir::reduce_max_chunks + cost.block(task.body), max_cost);
  } else {
    operations = iteration(cost, task.body);
  }
  return {at_least_one(operations), cost.exact()};
}

std::vector<TaskCost> estimate_phases(const ir::Task& task) {
  std::vector<TaskCost> costs;
  add_phases(task, task.body, false, costs);
  return costs;
}

}  // namespace weir::passes
