// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/ir.hpp"

namespace weir::ir {

/// A hash of the text form without locations: the same on every machine, and unchanged when a kernel moves in
/// its file or its values are numbered differently.
std::uint64_t hash(const Kernel& kernel);

/// For verified kernels: renumbers values, locals and strings in the order of the text, which leaves the text
/// form as it is.
void number(Kernel& kernel);

}  // namespace weir::ir
