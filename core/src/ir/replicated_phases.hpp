// SPDX-License-Identifier: Apache-2.0
// Replicated phases of cooperative tasks. A barrier of the grid costs more than a microsecond, so a
// cooperative task has as few as possible. Each block has copies of some values in scratch memory, and runs
// the serial phases that use only those, in one thread. It also combines the chunks of each reduction. These
// phases end with a barrier of the block. All other serial phases run in one thread of the grid. Several
// blocks could read different values from arrays that a host or another stream changes, and then wait for
// each other without end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/task.hpp"

namespace weir::ir {

class ReplicatedPhases {
 public:
  /// A value in scratch memory of which each block has a copy.
  struct Copy {
    std::uint32_t offset;  ///< in scratch memory
    ScalarType type;
    bool enters;  ///< the task may read a value from before it
    bool leaves;  ///< other tasks read it later
  };

  /// `task` is one of phases without a region. It need not be cooperative: counts of barriers are compared
  /// before code is generated.
  explicit ReplicatedPhases(const Task& task);

  const std::vector<Copy>& copies() const { return copies_; }
  /// The place in copies() of the value at `offset`, if it has copies.
  std::optional<std::size_t> copy_at(std::uint64_t offset) const;

  /// Whether one thread of each block runs the phase. For serial phases.
  bool in_each_block(const Statement& phase) const { return replicated_.contains(&phase); }
  /// Whether each block combines the chunks of a phase that ends in a reduction.
  bool combines_in_each_block(const Statement& phase) const;
  /// Places in copies() of the values that the one thread which runs the phase sets. Other blocks take them
  /// from scratch memory after the phase, between two barriers of the grid.
  std::vector<std::size_t> set_by_one_block(const Statement& phase) const;

  /// Whether the blocks of the grid wait for each other after the phase `block.statements[i]`. Otherwise only
  /// the threads of a block do.
  bool grid_waits_after(const Block& block, std::size_t i) const;
  /// The same at the end of a repetition, for which the barrier of a last phase may serve.
  bool grid_waits_after_repetition(const Statement& repeat) const;

  /// The barriers of the grid if each statement runs once.
  std::uint32_t count_barriers() const;

 private:
  /// How statements use values in scratch memory.
  struct Uses {
    std::set<std::uint64_t> reads, writes;
    bool only_scratch = true;  ///< nothing else in memory, and no local arrays there
  };
  struct Serial {
    const Statement* phase;
    Uses uses;
    std::size_t depth;  ///< number of repetitions around it
  };

  void gather(const Block& block, Uses& uses);
  void find_phases(const Block& block, std::size_t depth);
  void choose();
  void find_copies(const Task& task);
  void find_entering(const Block& block, std::set<std::uint64_t>& assigned,
                     std::set<std::uint64_t>& entering);
  void find_reductions_to_wait_for(const Block& block, bool repeated);
  bool reads_shared_values(const Block& block) const;
  bool waits_for_grid(const Statement& phase) const;
  std::uint32_t count_barriers(const Block& block) const;

  std::vector<Serial> serial_;
  std::map<std::uint64_t, ScalarType> types_;  // of all values
  std::set<std::uint64_t> arrays_;             // values that are accessed with an index
  std::set<std::uint64_t> results_;            // of reductions
  std::set<std::uint64_t> copied_;
  std::map<const Statement*, Uses> single_;  // serial phases that run once
  std::set<const Statement*> replicated_;
  std::set<const Statement*> read_shared_;  // replicated phases that read values without copies
  std::set<const Statement*> overtaken_;    // reductions whose chunks a block could overwrite early
  std::vector<Copy> copies_;
  const Block* body_;
};

}  // namespace weir::ir
