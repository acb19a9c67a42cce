// SPDX-License-Identifier: Apache-2.0
// How generated code tells the host that an iteration failed. One record serves a stream: generated code
// claims it with a compare-and-swap of `state`, so the first failure wins, and the host reads and clears it
// between launches.
//
// `site` names the statement without naming its line, so that code does not change when a kernel moves:
// site = site_base + number, where site_base is the task's own argument (TaskArgument::Kind::site_base) and
// `number` counts the statements of Task::body that can fail (can_fail below) in pre-order from 0. The host
// gives each task of a loaded kernel a base of its own, bases apart by at least failure_sites(task.body),
// finds the task whose range holds the site, and gets the statement back with failure_site(task.body, site -
// site_base): its `location` is the source line, an assert's message is kernel.strings[statement.index], and
// the array of a failed bounds check is kernel.parameters[statement.index] (the local with that id for get
// and set).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/ir.hpp"

namespace weir::ir {

struct ErrorRecord {
  static constexpr std::uint32_t free = 0, being_written = 1, complete = 2;

  std::uint32_t state;          ///< complete is stored with release order after the rest
  std::uint32_t site;           ///< site_base + number
  std::int64_t index[4];        ///< the loop indices of the iteration that failed; 0 beyond the loop's rank
  std::int64_t array_index[4];  ///< bounds checks: the index used; 0 for asserts
  std::int64_t
      extent[4];  ///< bounds checks: the extents it was outside of; 0 beyond the rank and for asserts
  std::uint64_t reserved[3];
};
static_assert(sizeof(ErrorRecord) == 128 && offsetof(ErrorRecord, index) == 8 &&
                  offsetof(ErrorRecord, array_index) == 40 && offsetof(ErrorRecord, extent) == 72,
              "ErrorRecord is known to generated code");

/// Statements that have a failure site, whether or not the kernel checks bounds.
constexpr bool can_fail(const Statement& statement) noexcept {
  switch (statement.op) {
    case Op::assert_:
    case Op::load:
    case Op::store:
    case Op::atomic:
    case Op::get:
    case Op::set:
      return true;
    default:
      return false;
  }
}

/// The statement with that number in `block`, or null. `number` is counted down as sites are passed.
inline const Statement* take_failure_site(const Block& block, std::uint32_t& number) noexcept {
  for (const Statement& statement : block.statements) {
    if (can_fail(statement) && number-- == 0) return &statement;
    for (const Block& body : statement.bodies)
      if (const Statement* found = take_failure_site(body, number)) return found;
  }
  return nullptr;
}
inline const Statement* failure_site(const Block& block, std::uint32_t number) noexcept {
  return take_failure_site(block, number);
}

/// How many failure sites a block has.
inline std::uint32_t failure_sites(const Block& block) noexcept {
  std::uint32_t count = 0;
  for (const Statement& statement : block.statements) {
    count += can_fail(statement);
    for (const Block& body : statement.bodies) count += failure_sites(body);
  }
  return count;
}

}  // namespace weir::ir
