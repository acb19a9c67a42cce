// SPDX-License-Identifier: Apache-2.0
// How the front end hands a kernel on. Declared here and defined in runtime/launch, so that the kernel language knows
// nothing of what runs it.
#pragma once

#include "ir/ir.hpp"

namespace weir {
class Program;
/// Plans a verified kernel and wraps it for launching. Throws Error{kernel} when it cannot be planned.
Program make_program(ir::Kernel kernel);
}  // namespace weir
