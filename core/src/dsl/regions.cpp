// SPDX-License-Identifier: Apache-2.0
// stream_parallel: which stream blocks form a region, and where stream blocks are not allowed.
#include <algorithm>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"

namespace weir::detail {

namespace {

// True for statements that may run earlier: they read no memory and no variable.
bool reads_nothing_that_changes(const ir::Statement& statement) {
  return statement.op <= ir::Op::philox && statement.bodies.empty();
}

// Moves values computed between two stream blocks before the region, so that the blocks are consecutive.
void bring_region_to_the_end(std::vector<ir::Statement>& statements) {
  auto region = statements.end();
  while (region != statements.begin() && reads_nothing_that_changes(*(region - 1))) --region;
  if (region == statements.begin() || (region - 1)->op != ir::Op::region) return;
  std::rotate(region - 1, region, statements.end());
}

}  // namespace

void Trace::open_stream_block(Scope& scope, bool conflicts_are_meant, const Where& where) {
  ir::Statement region = statement_of(ir::Op::region);
  region.immediate = conflicts_are_meant ? 1 : 0;
  region.location = locate(where);
  const OpenBlock& around = stack_.back();
  const auto block_around = std::find_if(
      stack_.begin(), stack_.end(), [](const OpenBlock& b) { return b.kind == BlockKind::stream_block; });
  bool allowed = false;
  if (!functions_.empty()) {
    report("stream_parallel stands inside the device function '" + functions_.back().name + "' (" +
               at(functions_.back().made) +
               "): put the call of the function inside a stream_parallel of the kernel "
               "instead",
           where);
  } else if (block_around != stack_.end()) {
    report("stream_parallel stands inside the stream_parallel at " + at(block_around->opened) +
               ": blocks do not nest; write the inner work next to it as a block of its own, or without "
               "stream_parallel",
           where);
  } else if (around.kind != BlockKind::body) {
    report("stream_parallel stands inside the " + std::string(describe(around.kind)) + " at " +
               at(around.opened) + ": blocks stand directly in the kernel; put the " +
               std::string(describe(around.kind)) + " inside the block instead",
           where);
  } else {
    allowed = true;
    bring_region_to_the_end(stack_.back().block.statements);
  }
  open(BlockKind::stream_block, std::move(region), 0, where);
  stack_.back().dropped = !allowed;
  scope.trace_ = id_;
  scope.depth_ = 1;
}

}  // namespace weir::detail
