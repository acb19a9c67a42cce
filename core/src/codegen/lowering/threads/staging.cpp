// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/staging.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "codegen/lowering/threads/packets.hpp"

namespace weir::codegen {
namespace {

using ir::Op;

constexpr std::uint32_t longest = 128, shortest = 32;

/// The arrays that a parallel loop's body writes, and the values that may differ between iterations.
class Body {
 public:
  explicit Body(const ir::Statement& loop) {
    const ir::Block& body = loop.bodies.at(0);
    varying_.insert(body.arguments.begin(), body.arguments.end());
    straight_ = visit(body);
  }
  /// Every iteration runs every statement: all threads reach each loop together.
  bool straight() const { return straight_; }
  bool varies(ir::ValueId v) const { return varying_.contains(v); }
  bool writes(std::uint32_t array) const { return written_.contains(array); }

 private:
  bool visit(const ir::Block& block) {
    return std::all_of(block.statements.begin(), block.statements.end(),
                       [&](const ir::Statement& s) { return visit(s); });
  }

  bool visit(const ir::Statement& s) {
    if (s.op == Op::store || s.op == Op::atomic) written_.insert(s.index);
    const bool reads = s.op == Op::load || s.op == Op::get || s.op == Op::atomic || s.op == Op::scratch_load;
    const bool any =
        std::any_of(s.operands.begin(), s.operands.end(), [&](ir::ValueId v) { return varies(v); });
    if (s.result != ir::no_value && (any || reads)) varying_.insert(s.result);
    // Threads whose loops have other bounds leave them at other times.
    return s.op == Op::for_ ? !any && visit(s.bodies.at(0)) : straight_cost(s).has_value();
  }

  std::set<ir::ValueId> varying_;
  std::set<std::uint32_t> written_;
  bool straight_ = false;
};

std::uint64_t bytes_of(const ir::Kernel& kernel, const std::vector<std::uint32_t>& arrays) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t array : arrays) bytes += kernel.parameters.at(array).element.size();
  return bytes;
}

}  // namespace

std::vector<std::uint32_t> staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                                         const ir::Statement& inner, const LaunchAssumptions& assumptions) {
  std::vector<std::uint32_t> arrays;
  if (!assumptions.no_alias || kernel.options.check_bounds) return arrays;
  const Body body(loop);
  if (!body.straight() || std::any_of(inner.operands.begin(), inner.operands.end(),
                                      [&](ir::ValueId v) { return body.varies(v); }))
    return arrays;
  for (const ir::Statement& s : inner.bodies.at(0).statements) {
    if (s.op != Op::load || s.operands.size() != 1 || s.operands[0] != inner.bodies[0].arguments.at(0))
      continue;
    if (!body.writes(s.index) && std::find(arrays.begin(), arrays.end(), s.index) == arrays.end())
      arrays.push_back(s.index);
  }
  if (bytes_of(kernel, arrays) * shortest > stage_bytes) arrays.clear();
  return arrays;
}

bool has_staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                       const LaunchAssumptions& assumptions) {
  const auto& statements = loop.bodies.at(0).statements;
  return std::any_of(statements.begin(), statements.end(), [&](const ir::Statement& s) {
    return s.op == Op::for_ && !staged_arrays(kernel, loop, s, assumptions).empty();
  });
}

std::uint32_t stage_length(const ir::Kernel& kernel, const std::vector<std::uint32_t>& arrays) {
  return std::min(longest, std::bit_floor(std::uint32_t(stage_bytes / bytes_of(kernel, arrays))));
}

}  // namespace weir::codegen
