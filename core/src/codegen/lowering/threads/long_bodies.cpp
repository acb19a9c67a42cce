// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/long_bodies.hpp"

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

}  // namespace

bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop,
                   const LaunchAssumptions& assumptions) {
  return loop.op == ir::Op::parallel && !ir::is_group_loop(loop) &&
         count(loop.bodies[0]) >= long_statements && packet_width(kernel, loop, assumptions) == 1 &&
         !loads_several_rows(loop) && !has_staged_arrays(kernel, loop, assumptions) &&
         !ir::counters_of(kernel, loop) && ir::sums_of(kernel, loop).empty();
}

}  // namespace weir::codegen
