// SPDX-License-Identifier: Apache-2.0
// The kinds of statements that are combined with lowering paths: operations, atomics, locals, element
// types.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::test {

/// A number below kind_count.
using Kind = std::size_t;
inline constexpr std::size_t op_kinds = static_cast<std::size_t>(ir::Op::continue_) + 1;
inline constexpr Kind assert_kind = op_kinds;
inline constexpr Kind print_kind = assert_kind + 1;
inline constexpr Kind exact_math_kind = print_kind + 1;         ///< functions with one correct result
inline constexpr Kind library_math_kind = exact_math_kind + 1;  ///< functions of the math library
inline constexpr Kind first_atomic_kind = library_math_kind + 1;
inline constexpr Kind local_array_kind = first_atomic_kind + ir::atomic_kind_count;
inline constexpr Kind first_type_kind = local_array_kind + 1;
inline constexpr Kind vector_kind = first_type_kind + 12;
inline constexpr Kind matrix_kind = vector_kind + 1;
inline constexpr Kind chosen_read_kind = matrix_kind + 1;            ///< of a component, by an index
inline constexpr Kind chosen_write_kind = chosen_read_kind + 1;      ///< likewise, in branches
inline constexpr Kind single_element_kind = chosen_write_kind + 1;   ///< of an array of rank 0
inline constexpr Kind narrow_atomic_kind = single_element_kind + 1;  ///< on 1 or 2 bytes of an array
inline constexpr Kind local_matrix_kind = narrow_atomic_kind + 1;    ///< a large local array, in loops
// Of group loops only. `kept` is what a thread has before and after a barrier.
inline constexpr Kind first_shared_atomic_kind = local_matrix_kind + 1;
inline constexpr Kind barrier_in_branch_kind = first_shared_atomic_kind + ir::atomic_kind_count;
inline constexpr Kind barrier_in_loop_kind = barrier_in_branch_kind + 1;
inline constexpr Kind kept_value_kind = barrier_in_loop_kind + 1;
inline constexpr Kind kept_local_kind = kept_value_kind + 1;
inline constexpr Kind kept_array_kind = kept_local_kind + 1;
inline constexpr Kind ended_thread_kind = kept_array_kind + 1;  ///< that no barrier waits for
inline constexpr Kind narrow_shared_atomic_kind = ended_thread_kind + 1;
inline constexpr Kind wave_shuffle_kind = narrow_shared_atomic_kind + 1;  ///< in groups of whole waves of 64
inline constexpr Kind wave_ballot_kind = wave_shuffle_kind + 1;           ///< likewise
inline constexpr Kind wave_barrier_kind = wave_ballot_kind + 1;           ///< of a sub-group, likewise
inline constexpr Kind subgroup_barrier_kind = wave_barrier_kind + 1;      ///< in other groups
inline constexpr std::size_t kind_count = subgroup_barrier_kind + 1;

using Kinds = std::bitset<kind_count>;

constexpr Kind kind_of(ir::Op op) noexcept {
  if (op == ir::Op::print) return print_kind;
  return op == ir::Op::assert_ ? assert_kind : static_cast<Kind>(op);
}
constexpr Kind kind_of(ir::AtomicKind kind) noexcept {
  return first_atomic_kind + static_cast<Kind>(kind);
}
constexpr Kind kind_of(ScalarType type) noexcept {
  return first_type_kind + static_cast<Kind>(type);
}

constexpr bool is_group_kind(Kind kind) noexcept {
  return kind == kind_of(ir::Op::shared) || kind == kind_of(ir::Op::barrier) ||
         kind == kind_of(ir::Op::shuffle) || kind == kind_of(ir::Op::ballot) ||
         kind >= first_shared_atomic_kind;
}

constexpr bool is_local_array_kind(Kind kind) noexcept {
  return kind == local_array_kind || kind == local_matrix_kind;
}

constexpr bool is_wave_kind(Kind kind) noexcept {
  return kind == wave_shuffle_kind || kind == wave_ballot_kind || kind == wave_barrier_kind;
}

/// False for the numbers of math and atomic operations, which are split into several kinds.
bool is_kind(Kind kind) noexcept;
/// "add", "atomic.xor", "local array", "type i16", "vec", ...
std::string kind_name(Kind kind);
/// The kinds in a task's loop, or in the whole task if it has none. Values that a loop takes from other tasks
/// are loaded before it and count too.
Kinds kinds_of(const ir::Kernel& kernel, const ir::Task& task);

}  // namespace weir::test
