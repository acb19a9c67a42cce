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

// Moves values computed between two stream blocks before the region, so that these are consecutive.
void bring_region_to_the_end(std::vector<ir::Statement>& statements) {
  auto region = statements.end();
  while (region != statements.begin() && reads_nothing_that_changes(*(region - 1))) --region;
  if (region == statements.begin() || (region - 1)->op != ir::Op::region) return;
  std::rotate(region - 1, region, statements.end());
}

}  // namespace

// The reason why `what` is not allowed here, or "".
std::string Trace::place_refusal(const std::string& what) const {
  const OpenBlock& around = stack_.back();
  const auto block_around = std::find_if(
      stack_.begin(), stack_.end(), [](const OpenBlock& b) { return b.kind == BlockKind::stream_block; });
  if (!functions_.empty())
    return what + " is inside the device function '" + functions_.back().name + "' (" +
           at(functions_.back().made) +
           "): put the call of the function inside a stream_parallel of the kernel instead";
  if (block_around != stack_.end())
    return what + " is inside the stream_parallel at " + at(block_around->opened) +
           ": blocks do not nest; write the inner work next to it as a block of its own, or without "
           "stream_parallel";
  if (around.kind != BlockKind::body) {
    const std::string kind(describe(around.kind));
    return what + " is inside the " + kind + " at " + at(around.opened) +
           ": blocks belong directly in the kernel; put the " + kind + " inside the block instead";
  }
  return {};
}

void Trace::open_stream_block(Scope& scope, bool conflicts_are_meant, const Where& where) {
  ir::Statement region = statement_of(ir::Op::region);
  region.immediate = conflicts_are_meant ? 1 : 0;
  region.location = locate(where);
  const std::string refusal = place_refusal("stream_parallel");
  if (!refusal.empty())
    report(refusal, where);
  else if (!stack_.back().region_ended)
    bring_region_to_the_end(stack_.back().block.statements);
  open(BlockKind::stream_block, std::move(region), 0, where);
  stack_.back().dropped = !refusal.empty();
  scope.trace_ = id_;
  scope.depth_ = 1;
}

void Trace::open_stream_region(Scope& scope, const Where& where) {
  std::string refusal = place_refusal("stream_region");
  if (refusal.empty() && region_)
    refusal = "stream_region is inside the stream_region at " + at(region_->opened) +
              ": regions do not nest; write one after the other";
  if (!refusal.empty()) return report(refusal, where);
  stack_.back().region_ended = true;
  region_ = ActiveRegion{known(where)};
  scope.trace_ = id_;
  scope.region_ = true;
}

void Trace::close_stream_region() noexcept {
  stack_.back().region_ended = true;
  region_.reset();
}

// Reports, once for each stream_region, a statement of the kernel's body that is in none of its stream
// blocks.
void Trace::check_between_blocks(const ir::Statement& statement, const Where& where) {
  if (!region_ || region_->refused || stack_.size() != 1 || reads_nothing_that_changes(statement)) return;
  region_->refused = true;
  report(
      "a statement of the stream_region at " + at(region_->opened) +
          " is in none of its blocks: put it inside a stream_parallel, or before or after the stream_region",
      where);
}

}  // namespace weir::detail
