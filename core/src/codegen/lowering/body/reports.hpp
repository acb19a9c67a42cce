// SPDX-License-Identifier: Apache-2.0
// Functions of the module by which kernels report to the host: failures and printed lines.
#pragma once

#include <cstddef>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

/// The function of the module that writes an error record (ir/error_record.hpp) unless one has been claimed.
/// Its type is void (record, site, loop indices, array indices, extents), with max_rank i64 numbers for each
/// of the last three.
llvm::Function* failure_report(TaskFunction& lowering);

/// The function of the module that appends an entry of `values` words to a print buffer
/// (ir/print_buffer.hpp). Its type is void (buffer, site, launch, max_rank loop indices, values); the last
/// two are i64.
llvm::Function* print_entry(TaskFunction& lowering, std::size_t values);

}  // namespace weir::codegen
