// SPDX-License-Identifier: Apache-2.0
// Runs a program's kernels through Weir, which provides devices, streams, memory and task lists,
// independently of the language.
#pragma once

#include <weir/weir.hpp>

#include "generate.hpp"

namespace generator {

/// The device that WEIR_DEVICE names, else the first that loads OpenCL C. Throws weir::Error.
weir::Device find_device();

/// Runs the program `launches` times and returns every variable.
std::map<std::string, std::vector<float>> run_on_device(const weir::Device& device, const Program& program,
                                                        const Code& code, int launches);

}  // namespace generator
