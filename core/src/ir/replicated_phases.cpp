// SPDX-License-Identifier: Apache-2.0
#include "ir/replicated_phases.hpp"

#include <algorithm>

namespace weir::ir {

namespace {

/// They are in the block's memory, 8 bytes each. With more values the task is left as it is.
constexpr std::size_t max_copies = 64;

bool is_loop_phase(const Statement& phase) {
  const auto& statements = phase.bodies.front().statements;
  return !statements.empty() && (statements.back().op == Op::parallel || statements.back().op == Op::reduce);
}

bool ends_in_reduction(const Statement& phase) {
  const auto& statements = phase.bodies.front().statements;
  return !statements.empty() && statements.back().op == Op::reduce;
}

std::uint64_t result_of(const Statement& phase) {
  return std::uint32_t(phase.immediate);
}

/// Statements that touch no memory but locals of the phase and values in scratch memory.
bool touches_only_scratch(Op op) {
  switch (op) {
    case Op::scratch_load:
    case Op::scratch_store:
    case Op::local:
    case Op::get:
    case Op::set:
    case Op::if_:
    case Op::while_:
    case Op::for_:
    case Op::break_:
    case Op::continue_:
    case Op::yield:
      return true;
    default:
      return op <= Op::philox;
  }
}

bool is_indexed(const Statement& s) {
  return s.operands.size() > (s.op == Op::scratch_store ? 1u : 0u);
}

}  // namespace

ReplicatedPhases::ReplicatedPhases(const Task& task) : body_(&task.body) {
  find_phases(task.body, 0);
  choose();
  find_copies(task);
  if (copies_.size() > max_copies) {
    for (const Serial& serial : serial_) single_.insert({serial.phase, serial.uses});
    copied_.clear(), copies_.clear(), replicated_.clear();
  }
  for (const Serial& serial : serial_)
    if (replicated_.contains(serial.phase) && !std::ranges::includes(copied_, serial.uses.reads))
      read_shared_.insert(serial.phase);
  find_reductions_to_wait_for(task.body, false);
}

std::optional<std::size_t> ReplicatedPhases::copy_at(std::uint64_t offset) const {
  const auto at = std::ranges::lower_bound(copies_, offset, {}, &Copy::offset);
  if (at == copies_.end() || at->offset != offset) return std::nullopt;
  return std::size_t(at - copies_.begin());
}

bool ReplicatedPhases::combines_in_each_block(const Statement& phase) const {
  return copied_.contains(result_of(phase));
}

void ReplicatedPhases::gather(const Block& block, Uses& uses) {
  for (const Statement& s : block.statements) {
    uses.only_scratch = uses.only_scratch && touches_only_scratch(s.op);
    if (s.op == Op::scratch_load || s.op == Op::scratch_store) {
      (s.op == Op::scratch_load ? uses.reads : uses.writes).insert(s.immediate);
      types_[s.immediate] = s.type;
      if (is_indexed(s)) {
        arrays_.insert(s.immediate);
        uses.only_scratch = false;
      }
    }
    for (const Block& inner : s.bodies) gather(inner, uses);
  }
}

void ReplicatedPhases::find_phases(const Block& block, std::size_t depth) {
  for (const Statement& s : block.statements) {
    Uses uses;
    if (s.op == Op::repeat) {
      for (const Block& body : s.bodies) find_phases(body, depth + 1);
    } else if (s.op != Op::phase) {
      if (s.op == Op::scratch_load) types_[s.immediate] = s.type;
      for (const Block& body : s.bodies) find_phases(body, depth);
    } else if (gather(s.bodies.front(), uses); !is_loop_phase(s)) {
      serial_.push_back({&s, std::move(uses), depth});
    } else if (ends_in_reduction(s)) {
      results_.insert(result_of(s));
      types_[result_of(s)] = s.bodies.front().statements.back().type;
    }
  }
}

/// A value has copies if the serial phases that set it most often are replicated. Every phase that sets a
/// value without copies runs once, which can take the copies from further values.
void ReplicatedPhases::choose() {
  std::set<const Statement*> once;
  for (const Serial& serial : serial_) {
    const bool sets_array = std::ranges::any_of(
        serial.uses.writes, [&](std::uint64_t offset) { return arrays_.contains(offset); });
    if (!serial.uses.only_scratch || sets_array) once.insert(serial.phase);
  }
  for (bool changed = true; changed;) {
    struct Depths {
      std::size_t once = 0, replicated = 0;  // of the deepest phase that sets the value, from 1 on
    };
    std::map<std::uint64_t, Depths> set;
    for (const Serial& serial : serial_)
      for (const std::uint64_t offset : serial.uses.writes) {
        Depths& depths = set[offset];
        std::size_t& depth = once.contains(serial.phase) ? depths.once : depths.replicated;
        depth = std::max(depth, serial.depth + 1);
      }
    copied_ = results_;
    for (const auto& [offset, depths] : set)
      if (depths.replicated > depths.once) copied_.insert(offset);
    for (const std::uint64_t offset : arrays_) copied_.erase(offset);
    changed = false;
    for (const Serial& serial : serial_)
      if (!once.contains(serial.phase) && !std::ranges::includes(copied_, serial.uses.writes))
        changed = once.insert(serial.phase).second;
  }
  for (const Serial& serial : serial_) {
    if (once.contains(serial.phase))
      single_.insert({serial.phase, serial.uses});
    else
      replicated_.insert(serial.phase);
  }
}

void ReplicatedPhases::find_copies(const Task& task) {
  std::set<std::uint64_t> assigned, entering;
  find_entering(task.body, assigned, entering);
  for (const std::uint64_t offset : copied_) {
    // A task that a repetition of the launch runs again reads its own values.
    const bool leaves =
        entering.contains(offset) || std::ranges::binary_search(task.read_by_others, std::uint32_t(offset));
    const bool enters = leaves && (entering.contains(offset) || !assigned.contains(offset));
    copies_.push_back({std::uint32_t(offset), types_.at(offset), enters, leaves});
  }
}

/// Values that are read before a statement that certainly runs has set them.
void ReplicatedPhases::find_entering(const Block& block, std::set<std::uint64_t>& assigned,
                                     std::set<std::uint64_t>& entering) {
  for (const Statement& s : block.statements) {
    if (s.op == Op::scratch_load && !assigned.contains(s.immediate)) entering.insert(s.immediate);
    if (s.op == Op::phase) {
      find_entering(s.bodies.front(), assigned, entering);
      if (ends_in_reduction(s)) assigned.insert(result_of(s));
    } else {
      for (const Block& inner : s.bodies) {
        std::set<std::uint64_t> here = assigned;
        find_entering(inner, here, entering);
      }
    }
    if (s.op == Op::scratch_store && !is_indexed(s)) assigned.insert(s.immediate);
  }
}

std::vector<std::size_t> ReplicatedPhases::set_by_one_block(const Statement& phase) const {
  std::vector<std::size_t> places;
  const auto once = single_.find(&phase);
  if (once == single_.end()) return places;
  for (const std::uint64_t offset : once->second.writes)
    if (const auto place = copy_at(offset)) places.push_back(*place);
  return places;
}

/// Whether all blocks wait for each other at least once in the phase or after it, whatever follows it.
bool ReplicatedPhases::waits_for_grid(const Statement& phase) const {
  return is_loop_phase(phase) || read_shared_.contains(&phase);
}

/// The next repetition of a reduction overwrites its chunks, which other blocks may still be combining. Any
/// other barrier of the grid in the repetition prevents that. `repeated`: the block is in a repetition. Then
/// one that ends after its condition may begin again at once, and only barriers in the condition count for
/// it.
void ReplicatedPhases::find_reductions_to_wait_for(const Block& block, bool repeated) {
  for (const Statement& repeat : block.statements) {
    if (repeat.op != Op::repeat) continue;
    const auto waits_in = [&](const Block& body) {
      return std::ranges::count_if(
          body.statements, [&](const Statement& s) { return s.op == Op::phase && waits_for_grid(s); });
    };
    std::ptrdiff_t of_all = 0;
    for (const Block& body : repeat.bodies) {
      find_reductions_to_wait_for(body, true);
      of_all += waits_in(body);
    }
    for (const Block& body : repeat.bodies) {
      const bool may_be_last = repeated && has_condition(repeat) && &body == &repeat.bodies.front();
      if ((may_be_last ? waits_in(body) : of_all) >= 2) continue;
      for (const Statement& s : body.statements)
        if (s.op == Op::phase && ends_in_reduction(s)) overtaken_.insert(&s);
    }
  }
}

bool ReplicatedPhases::grid_waits_after(const Block& block, std::size_t i) const {
  const Statement& phase = block.statements[i];
  if (replicated_.contains(&phase)) return read_shared_.contains(&phase);
  if (ends_in_reduction(phase) && combines_in_each_block(phase)) return overtaken_.contains(&phase);
  if (is_loop_phase(phase) && !ends_in_reduction(phase)) return true;
  // One thread runs the phase, and goes on alone if it also runs the next one.
  const bool alone = i + 1 < block.statements.size() && single_.contains(&block.statements[i + 1]) &&
                     set_by_one_block(phase).empty();
  return !alone;
}

/// Whether all threads read values without copies between the phases.
bool ReplicatedPhases::reads_shared_values(const Block& block) const {
  return std::ranges::any_of(block.statements, [&](const Statement& s) {
    if (s.op == Op::scratch_load) return !copied_.contains(s.immediate);
    return s.op == Op::repeat &&
           std::ranges::any_of(s.bodies, [&](const Block& inner) { return reads_shared_values(inner); });
  });
}

bool ReplicatedPhases::grid_waits_after_repetition(const Statement& repeat) const {
  return std::ranges::any_of(repeat.bodies, [&](const Block& body) { return reads_shared_values(body); });
}

std::uint32_t ReplicatedPhases::count_barriers() const {
  const bool enters = std::ranges::any_of(copies_, [](const Copy& copy) { return copy.enters; });
  return std::uint32_t{enters} + count_barriers(*body_);
}

std::uint32_t ReplicatedPhases::count_barriers(const Block& block) const {
  std::uint32_t barriers = 0;
  for (std::size_t i = 0; i < block.statements.size(); ++i) {
    const Statement& s = block.statements[i];
    if (s.op == Op::phase) {
      barriers += ends_in_reduction(s);
      barriers += !set_by_one_block(s).empty();
      barriers += grid_waits_after(block, i);
      continue;
    }
    for (const Block& body : s.bodies) barriers += count_barriers(body);
    if (s.op != Op::repeat || !grid_waits_after_repetition(s)) continue;
    const Block& last = s.bodies.back();
    const bool waited = !last.statements.empty() && last.statements.back().op == Op::phase &&
                        grid_waits_after(last, last.statements.size() - 1);
    barriers += !waited;
  }
  return barriers;
}

}  // namespace weir::ir
