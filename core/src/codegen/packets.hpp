// SPDX-License-Identifier: Apache-2.0
// Packets: consecutive iterations that one thread runs side by side, so that its accesses are as wide as the
// memory system likes them, or what they have in common is loaded once.
#pragma once

#include <cstdint>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Iterations per packet of a `parallel` loop: a power of two, or 1 where nothing would be gained.
std::uint32_t packet_width(const ir::Kernel& kernel, const ir::Statement& loop, const Facts& facts);

/// Whether iterations load from several rows of an array, so that those of neighbouring rows share loads.
bool loads_several_rows(const ir::Statement& loop);

}  // namespace weir::codegen
