// SPDX-License-Identifier: Apache-2.0
// Builds with assertions hold every kernel to it: what is printed reads back to the same text.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::ir {

/// The first line in which two texts differ, "line N is 'A' and reads back as 'B'"; empty when none does.
std::string first_difference(std::string_view text, std::string_view back);

/// Throws Error{unknown} with the first line that differs when the text form of a sound `kernel`, with
/// locations or without, reads back to another text or not at all. Texts too long to be read are left alone.
void check_round_trip(const Kernel& kernel);

}  // namespace weir::ir
