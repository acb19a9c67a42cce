// SPDX-License-Identifier: Apache-2.0
// Reports of a machine while it runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/ir.hpp"

namespace weir::interpreter {

class Machine;

/// The iteration of a parallel loop or reduction that runs.
struct Iteration {
  const ir::Statement* loop = nullptr;  ///< null between loops
  std::uint32_t loops = 0;              ///< number of loops that a run has begun
  std::uint64_t number = 0;             ///< of the iteration, in the order of the run, from 0
  std::uint64_t group = 0;              ///< of a group loop: number of the group, from 0
  std::uint32_t interval = 0;           ///< of a group loop: number of the time between two barriers
  std::uint32_t time = 0;               ///< the number of barriers of sub-groups so far
  std::array<std::uint32_t, 6> waited{};  ///< the time of the last barrier of sub-groups of 2^k threads
  std::vector<std::int64_t> indices;
};

enum class Access : std::uint8_t { read, write, update };  ///< update: by an atomic

/// Called by a machine, which it may stop by an exception.
class Observer {
 public:
  virtual ~Observer() = default;
  /// `s` accesses no element: an index is outside its array or local array.
  virtual void outside(const Machine& machine, const ir::Statement& s) = 0;
  /// The condition of the assert `s` is false.
  virtual void false_assert(const Machine& machine, const ir::Statement& s) = 0;
  /// Before a scalar of an array is accessed, at byte `at` of one of the launch's memories.
  virtual void access(const Machine& machine, const ir::Statement& s, Access access, std::size_t memory,
                      std::size_t at) = 0;
  /// Before the statement accesses the element with that index of a shared array.
  virtual void shared_access(const Machine&, const ir::Statement&, Access, std::size_t) {}
  /// `s` computed `bits` from operands: arithmetic, or a step of a reduction or an atomic.
  virtual void computed(const Machine& machine, const ir::Statement& s, std::span<const ScalarType> types,
                        std::span<const std::uint64_t> operands, std::uint64_t bits) = 0;
  /// The print `s` runs.
  virtual void printed(const Machine&, const ir::Statement&) {}
};

}  // namespace weir::interpreter
