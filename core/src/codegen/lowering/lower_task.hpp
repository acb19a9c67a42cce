// SPDX-License-Identifier: Apache-2.0
// From one task to one LLVM function.
#pragma once

#include <weir/lowering.hpp>

#include "codegen/debug_lines.hpp"
#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// Appends the function of `task` to `module` and returns the forms of code that it takes; whether its loops
/// become vectors is LLVM's decision, made later. `lines` may be null: the function then has no source lines.
/// Throws Error{compile} for a task that is not verified or lacks arguments, and Error{unsupported} for one
/// whose locals need more stack than the device has.
Lowering lower_task(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                    const DeviceModel& device, DebugLines* lines = nullptr);

}  // namespace weir::codegen
