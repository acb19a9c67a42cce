// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/ir.hpp"

namespace weir::ir {

/// A hash of the text form without locations. It is the same on every machine, and does not change when a
/// kernel moves in its file or when its values are renumbered.
std::uint64_t hash(const Kernel& kernel);

/// Renumbers values, locals and strings of a verified kernel in the order of the text, which keeps the text
/// form unchanged.
void number(Kernel& kernel);

}  // namespace weir::ir
