// SPDX-License-Identifier: Apache-2.0
// Counters: arrays to which a loop only adds. If no other argument is the same memory, generated code may
// count in private memory and add the counts to the array at the end.
//
// Sums: atomic additions by which all iterations of a loop add floats to one element. Likewise, generated
// code may add in registers first, and to the element at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ir.hpp"

namespace weir::ir {

/// The array parameter whose elements a `parallel` loop counts in: 4-byte integers that it accesses only by
/// atomic additions whose old values it does not use.
std::optional<std::uint32_t> counters_of(const Kernel& kernel, const Statement& loop);

/// Whether a `parallel` loop of the kernel has counters.
bool has_counters(const Kernel& kernel);

struct Sum {
  const Statement* addition;  ///< `atomic.add` or `atomic.sub`
  /// Statements of the loop that compute the element's indices from values outside of the loop, in order.
  std::vector<const Statement*> indices;
};

/// The sums of a `parallel` loop: additions to f32 and f64 at indices that are equal in all iterations. The
/// loop only adds to these arrays, and uses no old value. None if there are more than max_sums, in a group
/// loop, in a loop with counters, or if the kernel checks bounds.
std::vector<Sum> sums_of(const Kernel& kernel, const Statement& loop);

inline constexpr std::size_t max_sums = 4;

/// Whether a `parallel` loop of the kernel has sums.
bool has_sums(const Kernel& kernel);

}  // namespace weir::ir
