// SPDX-License-Identifier: Apache-2.0
// Interface from the front end to the runtime. Declared here and defined in runtime/programs, so that the
// kernel language does not depend on the runtime.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ir.hpp"
#include "ir/struct_parameter.hpp"

namespace weir {
class Program;
/// Plans a verified kernel and makes a launchable Program of it. Throws Error{kernel} when it cannot be
/// planned. `structs` are the struct arrays among its parameters.
Program make_program(ir::Kernel kernel, std::vector<ir::StructParameter> structs = {});

namespace detail {
/// Whether WEIR_DEBUG, a list of kernels separated by commas, has the name or `*`. Names that no kernel has
/// had are printed when the process ends.
bool is_named_for_debugging(std::string_view kernel);
}  // namespace detail
}  // namespace weir
