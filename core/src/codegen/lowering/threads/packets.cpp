// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/packets.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "codegen/lowering/threads/staging.hpp"
#include "ir/additions.hpp"
#include "ir/groups.hpp"
#include "ir/prints.hpp"

namespace weir::codegen {
namespace {

using ir::Op;

constexpr std::uint32_t access_bytes = 16;  // the widest that a thread loads or stores at a time
constexpr std::uint32_t max_width = 8;
constexpr std::uint32_t cost_limit = 256;  // of a packet, in operations; beyond it, registers run out
constexpr std::uint32_t loop_width = 2;    // more would leave too few threads for small spaces
constexpr std::uint32_t loop_limit = 64;   // statements of a body with loops

/// More than a loop has that is written by hand. Twenty merged loops of a simulator have about 4,000.
constexpr std::size_t long_statements = 1000;

std::size_t statements_of(const ir::Block& block) {
  std::size_t sum = block.statements.size();
  for (const ir::Statement& s : block.statements)
    for (const ir::Block& body : s.bodies) sum += statements_of(body);
  return sum;
}

}  // namespace

std::optional<std::uint32_t> straight_cost(const ir::Statement& s) {
  switch (s.op) {
    case Op::constant:
    case Op::argument:
    case Op::extent:
    case Op::launch_key:
    case Op::get:
    case Op::set:
      return 0;
    case Op::local:
      if (s.immediate == 1) return 0;
      return std::nullopt;
    case Op::math:
      return 24;
    case Op::philox:
      return 60;
    case Op::div:
    case Op::rem:
      return 8;
    case Op::if_:
      if (ir::only_prints(s)) return 2;  // a print is expected to be rare
      return std::nullopt;
    case Op::while_:
    case Op::for_:
    case Op::break_:
    case Op::continue_:
    case Op::yield:
    case Op::assert_:
    case Op::print:
    case Op::parallel:
    case Op::reduce:
    case Op::region:
      return std::nullopt;
    default:
      return 1;
  }
}

namespace {

/// Bodies of straight code and loops whose bounds are the same for neighbouring iterations. The loops load
/// values that are also the same for them, so a packet loads them once.
class SharedLoops {
 public:
  explicit SharedLoops(const ir::Statement& loop) {
    varying_.insert(loop.bodies.at(0).arguments.back());
    together_ = visit(loop.bodies[0], false);
  }
  bool gain() const { return together_ && shared_loads_ > 0 && statements_ <= loop_limit; }

 private:
  bool varies(ir::ValueId v) const { return varying_.contains(v); }

  bool visit(const ir::Block& block, bool inside) {
    return std::all_of(block.statements.begin(), block.statements.end(),
                       [&](const ir::Statement& s) { return visit(s, inside); });
  }

  bool visit(const ir::Statement& s, bool inside) {
    ++statements_;
    const bool any =
        std::any_of(s.operands.begin(), s.operands.end(), [&](ir::ValueId v) { return varies(v); });
    if (s.op == Op::for_) return !any && visit(s.bodies.at(0), true);
    if (!straight_cost(s) || s.op == Op::atomic) return false;
    if (inside && s.op == Op::load && !any) ++shared_loads_;
    if (s.result != ir::no_value && (any || s.op == Op::get)) varying_.insert(s.result);
    return true;
  }

  std::set<ir::ValueId> varying_;
  std::uint32_t statements_ = 0, shared_loads_ = 0;
  bool together_ = false;
};

}  // namespace

namespace {

/// The accesses of a loop's body that is straight code: its cost, and the sizes of the elements that
/// neighbouring iterations access at neighbouring addresses.
struct StraightBody {
  std::uint32_t cost = 0, smallest = 0, largest = 0;
};

std::optional<StraightBody> straight_body(const ir::Kernel& kernel, const ir::Statement& loop) {
  const ir::Block& body = loop.bodies.at(0);
  const ir::ValueId innermost = body.arguments.back();
  StraightBody result;
  for (const ir::Statement& s : body.statements) {
    const auto c = straight_cost(s);
    if (!c) return std::nullopt;
    result.cost += *c;
    if (s.op != Op::load && s.op != Op::store) continue;
    const ir::Parameter& array = kernel.parameters.at(s.index);
    if (array.rank == 0 || s.operands.at(array.rank - 1u) != innermost) continue;
    const auto size = std::uint32_t(array.element.size());
    result.largest = std::max(result.largest, size);
    // An element whose size is not a power of two spreads the packets of neighbouring threads over more cache
    // lines; that costs more than the saved instructions.
    if (!std::has_single_bit(size) || size >= access_bytes) continue;
    result.smallest = result.smallest == 0 ? size : std::min(result.smallest, size);
  }
  return result;
}

}  // namespace

std::uint32_t packet_width(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions) {
  if (kernel.options.check_bounds) return 1;
  if (has_staged_arrays(kernel, loop, assumptions)) return 1;
  if (SharedLoops(loop).gain()) return loop_width;
  if (!assumptions.aligned) return 1;
  const auto body = straight_body(kernel, loop);
  if (!body || body->smallest == 0) return 1;
  std::uint32_t width = std::min(access_bytes / body->smallest, max_width);
  while (width > 1 && width * body->cost > cost_limit) width /= 2;
  return width;
}

bool accesses_wide(const ir::Kernel& kernel, const ir::Statement& loop,
                   const LaunchAssumptions& assumptions) {
  const auto body = straight_body(kernel, loop);
  return body && body->largest * packet_width(kernel, loop, assumptions) >= access_bytes;
}

bool loads_several_rows(const ir::Statement& loop) {
  const ir::Block& body = loop.bodies.at(0);
  if (body.arguments.size() < 2) return false;
  std::map<std::uint32_t, ir::ValueId> rows;  // the first row of each array that is loaded from
  for (const ir::Statement& s : body.statements) {
    if (s.op != Op::load || s.operands.size() < 2) continue;
    const ir::ValueId row = s.operands[s.operands.size() - 2];
    if (rows.try_emplace(s.index, row).first->second != row) return true;
  }
  return false;
}

std::uint32_t tile_packets(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions) {
  return loads_several_rows(loop) && accesses_wide(kernel, loop, assumptions) ? 2 : 1;
}

bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop,
                   const LaunchAssumptions& assumptions) {
  return loop.op == ir::Op::parallel && !ir::is_group_loop(loop) &&
         statements_of(loop.bodies[0]) >= long_statements && packet_width(kernel, loop, assumptions) == 1 &&
         !loads_several_rows(loop) && !has_staged_arrays(kernel, loop, assumptions) &&
         !ir::counters_of(kernel, loop) && ir::sums_of(kernel, loop).empty();
}

}  // namespace weir::codegen
