// SPDX-License-Identifier: Apache-2.0
// Reads kernels that the command line names.
#pragma once

#include <string>
#include <vector>
#include <weir/program.hpp>

namespace weir::tool {

/// The kernel in `file`, in text form or in a pack; "-" is standard input. Loads a pack, so that its code
/// serves launches. `name` chooses one of several kernels; "" takes the only one. Throws UsageError when
/// there are several or none of that name, and Error when the file cannot be read or is malformed.
Program read_kernel(const std::string& file, const std::string& name = "");

/// All kernels in `file`; likewise.
std::vector<Program> read_kernels(const std::string& file);

}  // namespace weir::tool
