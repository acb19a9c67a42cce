// SPDX-License-Identifier: Apache-2.0
#include "runtime/graphs/graph_state.hpp"

#include "runtime/graphs/call_order.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t scratch_alignment = 256;

std::atomic<std::uint64_t> last_number{0};

}  // namespace

void GraphState::count(const GraphCall& call) {
  std::size_t counted = 0;
  try {
    for (const AnyArrayView& view : call.arrays) {
      const Owned block{view.block(), view.generation()};
      const auto [found, fresh] = uses_.try_emplace(block, Uses{blocks.size()});
      if (fresh) try {
          blocks.push_back(block);
        } catch (...) {
          uses_.erase(found);
          throw;
        }
      ++found->second.count;
      ++counted;
    }
  } catch (...) {
    for (std::size_t i = 0; i < counted; ++i) drop_use({call.arrays[i].block(), call.arrays[i].generation()});
    throw;
  }
}

void GraphState::discount(const GraphCall& call) noexcept {
  for (const AnyArrayView& view : call.arrays) drop_use({view.block(), view.generation()});
}

void GraphState::drop_use(const Owned& block) noexcept {
  const auto found = uses_.find(block);
  if (found == uses_.end() || --found->second.count) return;
  const std::size_t place = found->second.place;
  uses_.erase(found);
  if (place + 1 != blocks.size()) {
    blocks[place] = blocks.back();
    uses_.find(blocks[place])->second.place = place;
  }
  blocks.pop_back();
}

CallNumbers GraphState::record(GraphCall call) {
  const auto index = static_cast<std::uint32_t>(calls.size());
  bool keyed_call = false, bound = false, recorded = false, prints = false;
  std::uint64_t bytes = 0;
  if (auto* program = std::get_if<ProgramCall>(&call.what)) {
    const passes::Plan& plan = program->plan();
    program->scratch_offset = scratch_bytes;
    bytes = (plan.scratch_bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
    // Variants for other facts may draw numbers that this one does not need.
    keyed_call = program->program.state()->plan->uses_launch_key;
    recorded = plan.uses_error_record;
    prints = plan.prints;
    if (may_cooperate(*program->program.state(), device)) {
      program->first_barrier = barriers;
      barriers += ir::grid_barriers;
      bound = true;
    }
    bound = bound || recorded || bytes != 0;
  }
  call.number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  keyed.reserve(keyed.size() + 1);
  printing.reserve(printing.size() + 1);
  stream_bound.reserve(stream_bound.size() + 1);
  steps.push_back({GraphStep::Kind::call, index});
  try {
    calls.push_back(std::move(call));
    count(calls.back());
  } catch (...) {
    steps.pop_back();
    if (calls.size() > index) calls.pop_back();
    throw;
  }
  scratch_bytes += bytes;
  repeated_tasks += calls.back().repeated_tasks();
  uses_record |= recorded;
  uses_keys |= keyed_call;
  if (keyed_call) keyed.push_back(index);
  if (prints) printing.push_back(index);
  if (bound) stream_bound.push_back(index);
  return {calls.back().number, index};
}

void GraphState::replace(std::uint32_t index, GraphCall call) {
  GraphCall& held = calls[index];
  if (auto* program = std::get_if<ProgramCall>(&call.what)) {
    const auto& before = std::get<ProgramCall>(held.what);
    program->scratch_offset = before.scratch_offset;
    program->first_barrier = before.first_barrier;
    if (program->compiled->placed_in_graphs != before.compiled->placed_in_graphs ||
        program->repeats.counts != before.repeats.counts)
      ++shape;
  }
  if (auto* kernel = std::get_if<KernelCall>(&call.what)) {
    kernel->region = std::get<KernelCall>(held.what).region;
    kernel->block = std::get<KernelCall>(held.what).block;
  }
  count(call);
  discount(held);
  if (!same_memory(call, held)) ++memory;
  if (call.node_count() != held.node_count()) ++shape;
  repeated_tasks += call.repeated_tasks() - held.repeated_tasks();
  call.version = ++version;
  call.number = held.number;
  held = std::move(call);
}

void GraphState::truncate(std::size_t step_count, std::size_t call_count) noexcept {
  steps.resize(std::min(steps.size(), step_count), GraphStep{GraphStep::Kind::join, 0});
  while (calls.size() > call_count) {
    discount(calls.back());
    repeated_tasks -= calls.back().repeated_tasks();
    calls.pop_back();
  }
  const auto gone = [&](std::uint32_t call) { return call >= call_count; };
  std::erase_if(keyed, gone);
  std::erase_if(printing, gone);
  std::erase_if(stream_bound, gone);
  uses_keys = !keyed.empty();
}

}  // namespace weir::detail
