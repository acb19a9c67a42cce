// SPDX-License-Identifier: Apache-2.0
// Group loops: parallel loops whose last indices number the threads of a group. The threads of a group share
// memory (`shared`), wait for one another (`barrier`) and exchange values (`shuffle`,
// `ballot`).
//
// Statement::component of a `parallel` is the number of its thread indices, 0 for an ordinary loop. Their
// extents are in Statement::immediate, 16 bits each, the first in the lowest bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ir.hpp"

namespace weir::ir {

inline constexpr std::uint64_t max_group_threads = 1024;
inline constexpr std::uint64_t max_subgroup = 32;
inline constexpr std::uint64_t max_shared_bytes = 48 * 1024;  ///< of a group loop

constexpr bool is_group_loop(const Statement& s) noexcept {
  return s.op == Op::parallel && s.component != 0;
}
/// The number of threads in dimension `d` of a group.
constexpr std::uint64_t thread_extent(const Statement& loop, std::size_t d) noexcept {
  return loop.immediate >> (16 * d) & 0xffff;
}
/// The number of threads of a group.
constexpr std::uint64_t group_threads(const Statement& loop) noexcept {
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < loop.component; ++d) count *= thread_extent(loop, d);
  return count;
}
/// Makes `loop` a group loop; `extents` are of its last indices, at most max_rank.
inline void set_group(Statement& loop, std::span<const std::uint64_t> extents) noexcept {
  loop.component = static_cast<std::uint8_t>(extents.size());
  loop.immediate = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) loop.immediate |= extents[d] << (16 * d);
}

/// Whether the threads of a sub-group, of Statement::immediate threads, read a local of each other.
/// (Of a barrier, Statement::immediate is 0 if it is of the whole group.)
constexpr bool is_exchange(Op op) noexcept {
  return op == Op::shuffle || op == Op::ballot;
}
/// Whether Statement::index is the number of a local.
constexpr bool names_local(const Statement& s) noexcept {
  return s.op == Op::local || s.op == Op::get || s.op == Op::set || s.op == Op::shared ||
         s.op == Op::shared_atomic || is_exchange(s.op) || (s.op == Op::threads && s.immediate != 0);
}
/// Whether all threads of a group must reach the statement together.
constexpr bool is_collective(Op op) noexcept {
  return op == Op::barrier || is_exchange(op);
}

/// The values that are equal in all threads of a group, and the statements that all of them reach together. A
/// value is uniform if it is computed from constants, arguments, extents, the launch key, indices of groups,
/// indices of uniform loops, and uniform locals. Such a local only ever holds uniform values, set in uniform
/// control flow.
///
/// Loaded elements vary, unless a collective statement depends on one. Then an element is uniform if its
/// indices are, its array is not written in the loop, it is loaded in uniform control flow, and no thread can
/// have ended before by itself: all threads of the group could have, and the element might not exist. A
/// failed assert_ of a kernel that checks bounds is no such end, because the load is checked, too.
class Uniformity {
 public:
  /// Of the body of a verified group loop; ids of other kernels' values are safe.
  Uniformity(const Statement& loop, bool check_bounds);

  bool value(ValueId id) const { return !varying_values_.contains(id); }
  bool local(std::uint32_t id) const { return !varying_locals_.contains(id); }

  /// A collective statement in control flow that differs between threads.
  struct Fault {
    const Statement* collective;
    const Statement* cause;  ///< the loop or branch that differs
  };
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  void find(const Statement& loop);
  void find_written(const Block& block);
  void walk(const Block& block, const Statement* cause);
  void end_some();
  void statement(const Statement& s, const Statement* cause);
  void vary(ValueId id) { changed_ = varying_values_.insert(id).second || changed_; }

  std::unordered_set<ValueId> varying_values_;
  std::unordered_set<std::uint32_t> varying_locals_, shared_;
  std::unordered_map<const Statement*, const Statement*> left_;  ///< loops that some threads leave early
  std::unordered_set<const Statement*>
      ended_in_;                               ///< outermost loops in which some threads end by themselves
  std::unordered_set<std::uint32_t> written_;  ///< parameters
  std::vector<const Statement*> loops_;
  std::vector<Fault> faults_;
  ValueId yielded_ = no_value;
  const bool check_bounds_;
  bool loads_ = false;  ///< loaded elements can be uniform
  bool some_ended_ = false;
  bool changed_ = false;
};

/// Splits the body of a group loop at its collective statements, for devices and interpreters that run the
/// threads of a group one after the other. Afterwards the body runs once per group. It contains uniform
/// statements, barriers, and `threads` blocks without barriers, which run once for each thread.
///  - Locals used by several `threads` blocks are declared around them with component 1: each thread has its
///    own. Component 2 also skips the initial zero.
///  - Values cross from one block to another in such locals, or are computed again.
///  - If a thread can end early, by a failure or by `continue`, blocks have immediate 1. Their index names a
///    boolean local per thread. A thread that ends sets it, and skips all later blocks.
///  - A `shuffle` or `ballot` is in a block of its own, which all threads run.
/// `loop.index` becomes 1. Ids for new values and locals are taken from the counters.
void split_group(Statement& loop, bool check_bounds, std::uint32_t& value_count, std::uint32_t& local_count);

}  // namespace weir::ir
