// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

/// The function of the module that appends an entry of `values` words to a print buffer
/// (ir/print_buffer.hpp). Its type is void (buffer, site, launch, max_rank loop indices, values); the last
/// two are i64.
llvm::Function* print_entry(TaskFunction& lowering, std::size_t values);

}  // namespace weir::codegen
