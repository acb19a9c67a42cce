// SPDX-License-Identifier: Apache-2.0
// Bodies of group loops: shared memory, barriers, exchanges, and control flow of the whole group.
#pragma once

#include "aimed_statements.hpp"

namespace weir::test {

/// Between two barriers, the threads either read any element of a shared array, or each writes its own, or
/// all update any of them by one commutative atomic. So a body has one meaning for any order of the threads.
class AimedGroups : protected AimedStatements {
 protected:
  explicit AimedGroups(Choices& choices) : AimedStatements(choices) {}

  /// Fills the body of a group loop with statements, one of them of the kind. The loop's indices are
  /// loop_.indices; the last ones number the threads, of which `extents` has one for each.
  void group_body(Block& out, const std::vector<std::uint64_t>& extents, Kind kind);
  /// One more part of the body.
  void group_part(Block& out, Kind kind);

 private:
  struct Shared {
    std::uint32_t id;
    ScalarType type;
    std::uint64_t count;
  };
  Shared share(Block& out, ScalarType type, std::uint64_t count);
  ValueId number_of_thread(Block& out, const std::vector<std::uint64_t>& extents);
  void clear(Block& out, const Shared& array);
  void barrier(Block& out) { out.statements.push_back(make(Op::barrier)); }
  Statement access(Op op, const Shared& array, std::vector<ValueId> operands);
  ValueId any_element(Block& out, const Shared& array);

  void read(Block& out, const Shared& array);
  void write_own(Block& out);
  ValueId in_row(Block& out, ValueId row, std::uint64_t k);
  void write_row(Block& out);
  void exchange_rows(Block& out);
  ir::AtomicKind any_update();
  /// Whether the result of updates of one element by several threads does not depend on their order.
  static bool commutes(ir::AtomicKind kind, ScalarType type);
  void update(Block& out, ir::AtomicKind kind);
  std::uint32_t exchanged(Block& out, ScalarType type);
  std::uint64_t width_of_subgroup();
  void shuffle(Block& out);
  void ballot(Block& out);
  void within_subgroups(Block& out);
  void across_barrier(Block& out, Kind kind);
  void end_some(Block& out);
  void phase(Block& out);
  void keep_one(Block& out);  // and a barrier
  void update_element(Block& out);

  // the same in all threads
  ValueId uniform(Block& out);
  ValueId uniform_condition(Block& out);
  void group_branch(Block& out, Kind kind);
  void group_for(Block& out, Kind kind);
  void group_while(Block& out, Kind kind);
  void leave_together(Block& out);
  void round(Block& out, Kind kind, bool only_updates);

  std::uint64_t threads_ = 1;
  std::size_t depth_ = 0;  ///< of branches and loops of the whole group
  bool in_loop_ = false;
  bool some_ended_ = false;  ///< maybe, by `continue_`
  bool uniform_loads_ = false;
  ValueId thread_ = ir::no_value;
  std::vector<ValueId> uniform_;
  Shared tile_{}, counters_{}, own_{};
  Shared rows_{};             // of 4 neighbours of each thread; in some kernels
  std::uint64_t in_row_ = 0;  // that a kernel accesses: code generation may make a vector of 2 or 4
};

}  // namespace weir::test
