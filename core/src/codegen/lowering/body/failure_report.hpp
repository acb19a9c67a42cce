// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

/// The function of the module that writes an error record (ir/error_record.hpp) unless one has been claimed.
/// Its type is void (record, site, loop indices, array indices, extents), with max_rank i64 numbers for each
/// of the last three.
llvm::Function* failure_report(TaskFunction& lowering);

}  // namespace weir::codegen
