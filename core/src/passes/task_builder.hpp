// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/task.hpp"
#include "ir/verifier.hpp"
#include "passes/draft.hpp"

namespace weir::passes {

/// Writes the tasks of a draft: self-contained copies of its segments, with scratch memory for values that
/// cross.
class TaskBuilder {
 public:
  explicit TaskBuilder(const Draft& draft);

  /// Builds the task of a live segment; for a reduction, the task that writes partial results. The task has
  /// no name and no arguments yet.
  ir::Task build(std::size_t segment);

  /// Builds the task whose phases are the live segments of [begin, end), which holds whole `repeat`s only.
  ir::Task phases(std::size_t begin, std::size_t end);

  /// Builds the task that runs the stream blocks of a region, whose segments are [begin, end).
  ir::Task phases_of_region(std::size_t begin, std::size_t end);

  /// Builds the task that combines the partial results of `partial` and then runs the serial segment
  /// `following`.
  ir::Task combine(const ir::Task& partial, std::optional<std::size_t> following);

 private:
  ir::ValueId fresh() { return task_.value_count++; }
  ir::ValueId define(ir::ValueId old) { return values_[old] = fresh(); }
  bool in_scratch(std::uint32_t local) const;
  bool mirrored(std::uint32_t local) const;
  bool unchanging(std::uint32_t local) const;

  void begin();
  void append(std::size_t segment, ir::Block& out);
  void append_phases(std::size_t begin, std::size_t end, ir::Block& out);
  void append_phase(std::size_t segment, ir::Block& out);
  void append_repeat(const Repeat& repeat, ir::Block& out);
  void append_test(const Repeat& repeat, std::size_t segment, ir::Block& out);
  bool can_fail(const Segment& segment) const;
  void clear_exports(const Segment& segment);
  void prologue(const Segment& segment);
  void epilogue(const Segment& segment);
  void block(const ir::Block& from, ir::Block& out);
  void statement(const ir::Statement& s, ir::Block& out);
  void access_scratch(const ir::Statement& s, ir::Block& out);
  void clear_scratch(const ir::Statement& s);
  void declare(const ir::Statement& s, ir::Block& out);
  void import_array(const ir::Statement& local);
  void export_array(const ir::Statement& local);

  ir::ValueId constant(ScalarType type, std::uint64_t bits, ir::Location where);
  ir::ValueId load(ScalarType type, std::uint32_t offset, ir::Location where);
  void store(ScalarType type, std::uint32_t offset, ir::ValueId value, ir::Location where);
  template <class Body>
  void for_each_element(const ir::Statement& local, Body body);

  const Draft& draft_;
  ir::Task task_;
  ir::Block* out_ = nullptr;  // of the segment
  Segment::Kind kind_ = Segment::Kind::serial;
  std::size_t segment_ = 0;
  std::array<ir::ValueId, ir::max_repeats> numbers_{};  // of the repetitions that the task runs, by depth
  std::vector<ir::ValueId> values_;                     // by the kernel's value id: the task's value
  std::vector<std::uint32_t> locals_;                   // by the kernel's local id: the task's local
  std::vector<ir::ValueId> read_ahead_;  // by the kernel's local id: its value, read before the loop
  bool failures_;                        // some statement of the kernel can fail
};

}  // namespace weir::passes
