// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ir/token_stream.hpp"

namespace weir::ir {

/// Reads everything before the body: version, name, options, files and parameters.
void read_header(TokenStream& in, std::string_view file, Kernel& kernel);

}  // namespace weir::ir
