// SPDX-License-Identifier: Apache-2.0
// Builds with assertions check for every kernel that its printed text parses and prints to the same text.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::ir {

/// The first line in which two texts differ, "line N is 'A' and reads back as 'B'"; empty when none does.
std::string first_difference(std::string_view text, std::string_view back);

/// Throws Error{unknown} with the first differing line when the text form of a valid `kernel`, with or
/// without locations, does not parse or prints differently afterwards. Skips texts that are too long for the
/// parser.
void check_round_trip(const Kernel& kernel);

}  // namespace weir::ir
