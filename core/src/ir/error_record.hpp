// SPDX-License-Identifier: Apache-2.0
// Failure reports from generated code to the host. Generated code claims its stream's record with
// a compare-and-swap of `state`, so the first failure wins, and the host reads and clears it between
// launches.
//
// `site` identifies the statement without its line, so that code does not change when a kernel moves: site =
// site_base + number. site_base is an argument of the task (TaskArgument::Kind::site_base). `number` counts
// the statements of Task::body that have one (has_site below) in pre-order from 0. The host assigns each task
// of a loaded kernel a separate base; bases differ by at least failure_sites(task.body). To decode a site,
// the host finds the task whose range contains it and calls failure_site(task.body, site - site_base). The
// `location` of that statement is the source line. The message of an assert is
// kernel.strings[statement.index]. The array of a failed bounds check is kernel.parameters[statement.index];
// for get and set it is the local with that id.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/ir.hpp"

namespace weir::ir {

struct ErrorRecord {
  /// The host sets `reported`; generated code writes to free records only.
  static constexpr std::uint32_t free = 0, being_written = 1, complete = 2, reported = 3;

  std::uint32_t state;          ///< complete is stored with release order after the rest
  std::uint32_t site;           ///< site_base + number
  std::int64_t index[4];        ///< the loop indices of the failed iteration; 0 beyond the loop's rank
  std::int64_t array_index[4];  ///< bounds checks: the index used; 0 for asserts
  std::int64_t extent[4];  ///< bounds checks: the extents that it exceeded; 0 beyond the rank and for asserts
  std::uint64_t reserved[3];
};
static_assert(sizeof(ErrorRecord) == 128 && offsetof(ErrorRecord, index) == 8 &&
                  offsetof(ErrorRecord, array_index) == 40 && offsetof(ErrorRecord, extent) == 72,
              "ErrorRecord is known to generated code");

/// Statements that generated code reports by a site: those that can fail, whether or not the kernel checks
/// bounds, and prints (print_buffer.hpp).
constexpr bool has_site(const Statement& statement) noexcept {
  switch (statement.op) {
    case Op::assert_:
    case Op::print:
    case Op::load:
    case Op::store:
    case Op::atomic:
    case Op::get:
    case Op::set:
    case Op::shared_atomic:
      return true;
    default:
      return false;
  }
}

/// The statement with that number in `block`, or null. Decrements `number` by the sites before it.
inline const Statement* take_failure_site(const Block& block, std::uint32_t& number) noexcept {
  for (const Statement& statement : block.statements) {
    if (has_site(statement) && number-- == 0) return &statement;
    for (const Block& body : statement.bodies)
      if (const Statement* found = take_failure_site(body, number)) return found;
  }
  return nullptr;
}
inline const Statement* failure_site(const Block& block, std::uint32_t number) noexcept {
  return take_failure_site(block, number);
}

/// The number of sites of a statement block, of failures and prints.
inline std::uint32_t failure_sites(const Block& block) noexcept {
  std::uint32_t count = 0;
  for (const Statement& statement : block.statements) {
    count += has_site(statement);
    for (const Block& body : statement.bodies) count += failure_sites(body);
  }
  return count;
}

}  // namespace weir::ir
