// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/codegen.hpp"

namespace weir::compilation {

/// Removes the source lines from generated code, so that debuggers do not show those of another program.
void remove_source_lines(codegen::CodeObject& object);

}  // namespace weir::compilation
