// SPDX-License-Identifier: Apache-2.0
// From one task to one LLVM function.
#pragma once

#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// Appends the function of `task` to `module`. Throws Error{compile} for a task that is not verified or lacks
/// arguments, and Error{unsupported} for one whose locals need more stack than the device has.
void lower_task(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                const DeviceModel& device);

}  // namespace weir::codegen
