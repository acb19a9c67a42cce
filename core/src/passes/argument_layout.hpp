// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/task.hpp"

namespace weir::passes {

/// Lays out the argument block of `task`: the arguments that it uses, addresses first, then by decreasing
/// size.
void lay_out_arguments(const ir::Kernel& kernel, std::uint32_t address_bytes, ir::Task& task);

/// Estimated operations per iteration of the task's loop, or of a serial task as a whole; at least 1.
std::uint32_t estimate_cost(const ir::Task& task);

}  // namespace weir::passes
