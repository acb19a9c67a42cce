// SPDX-License-Identifier: Apache-2.0
// Counters: arrays to which a loop only adds. If no other argument is the same memory, generated code may
// count in private memory and add the counts to the array at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.hpp"

namespace weir::ir {

/// The array parameter whose elements a `parallel` loop counts in: 4-byte integers that it accesses only by
/// atomic additions whose old values it does not use.
std::optional<std::uint32_t> counters_of(const Kernel& kernel, const Statement& loop);

/// Whether a `parallel` loop of the kernel has counters.
bool has_counters(const Kernel& kernel);

}  // namespace weir::ir
