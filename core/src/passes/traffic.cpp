// SPDX-License-Identifier: Apache-2.0
#include "passes/traffic.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "passes/plan.hpp"

namespace weir::passes {
namespace {

using ir::Op;

class Traffic {
 public:
  explicit Traffic(const ir::Kernel& kernel) : kernel_(kernel), arrays_(kernel.parameters.size()) {}

  void block(const ir::Block& block, bool repeated) {
    for (const ir::Statement& s : block.statements) {
      if (s.op == Op::load || s.op == Op::atomic) access(s, repeated, &ArrayTraffic::read, reads_);
      if (s.op == Op::store || s.op == Op::atomic) access(s, repeated, &ArrayTraffic::written, writes_);
      const bool loop = s.op == Op::for_ || s.op == Op::while_ || s.op == Op::phase;
      for (const ir::Block& body : s.bodies) this->block(body, repeated || loop);
    }
  }

  std::vector<ArrayTraffic> used() && {
    std::vector<ArrayTraffic> result;
    for (std::size_t p = 0; p < arrays_.size(); ++p) {
      ArrayTraffic& array = arrays_[p];
      if (array.read == 0 && array.written == 0) continue;
      array.parameter = static_cast<std::uint16_t>(p);
      result.push_back(array);
    }
    return result;
  }

 private:
  using Place = std::tuple<std::uint32_t, std::uint8_t, std::vector<ir::ValueId>>;

  void access(const ir::Statement& s, bool repeated, std::uint32_t ArrayTraffic::* bytes,
              std::set<Place>& seen) {
    std::uint32_t& sum = arrays_[s.index].*bytes;
    if (repeated) {
      sum = ArrayTraffic::whole;
      return;
    }
    // An element that the iteration accesses twice comes from memory once.
    const auto indices = s.operands.begin() + kernel_.parameters[s.index].rank;
    if (sum == ArrayTraffic::whole ||
        !seen.emplace(s.index, s.component, std::vector(s.operands.begin(), indices)).second)
      return;
    sum += static_cast<std::uint32_t>(size_of(s.type));
  }

  const ir::Kernel& kernel_;
  std::vector<ArrayTraffic> arrays_;  // by parameter
  std::set<Place> reads_, writes_;
};

}  // namespace

std::vector<ArrayTraffic> traffic_of(const ir::Kernel& kernel, const ir::Task& task) {
  Traffic traffic(kernel);
  const bool loop = task.kind == ir::TaskKind::parallel || task.kind == ir::TaskKind::reduce_partial;
  traffic.block(loop ? task.body.statements.back().bodies.front() : task.body, false);
  return std::move(traffic).used();
}

std::optional<std::uint64_t> bytes_per_iteration(const PlannedTask& task) noexcept {
  std::uint64_t sum = 0;
  for (const ArrayTraffic& array : task.traffic) {
    if (std::max(array.read, array.written) == ArrayTraffic::whole) return {};
    sum += array.read + array.written;
  }
  return sum;
}

const PlannedTask* find_loop(const Plan& separate, const ir::Location& location) noexcept {
  const auto found = std::ranges::find_if(separate.tasks, [&](const PlannedTask& planned) {
    const bool is_loop =
        planned.task.kind == ir::TaskKind::parallel || planned.task.kind == ir::TaskKind::reduce_partial;
    return is_loop && planned.task.body.statements.back().location == location;
  });
  return found == separate.tasks.end() ? nullptr : &*found;
}

}  // namespace weir::passes
