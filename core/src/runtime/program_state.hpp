// SPDX-License-Identifier: Apache-2.0
// How the front ends (dsl/, the IR parser) hand a kernel to the launcher.
#pragma once

#include <memory>

#include "ir/ir.hpp"

namespace weir {
class Program;
/// Plans a verified kernel and wraps it for launching. Throws Error{kernel} when it cannot be planned.
Program make_program(ir::Kernel kernel);
}  // namespace weir
