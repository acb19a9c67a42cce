// SPDX-License-Identifier: Apache-2.0
// Lowers one task to one LLVM function.
#pragma once

#include <weir/lowering.hpp>

#include "codegen/debug_lines.hpp"
#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// Appends the function of `task` to `module` and returns the forms that the code has. LLVM decides later
/// whether its loops are vectorised. With `lines` null, the function has no source lines. Throws
/// Error{compile} for a task that is not verified or lacks arguments, and Error{unsupported} for a task whose
/// locals need more stack than the device has.
Lowering lower_task(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                    const DeviceModel& device, DebugLines* lines = nullptr);

}  // namespace weir::codegen
