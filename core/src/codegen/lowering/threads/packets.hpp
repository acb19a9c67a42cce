// SPDX-License-Identifier: Apache-2.0
// Packets: consecutive iterations that one thread runs side by side, so that its accesses are as wide as the
// memory system likes them, or what they have in common is loaded once.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Rough operations of a statement, or nothing where it is control or may end an iteration early, so that
/// iterations must run one by one.
std::optional<std::uint32_t> straight_cost(const ir::Statement& s);

/// Iterations per packet of a `parallel` loop: a power of two, or 1 where nothing would be gained.
std::uint32_t packet_width(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions);

/// Whether straight code accesses 16 bytes or more of an array at a time. Such loops move most when every
/// thread runs one packet: a copy of 3 GiB on an H200 took 0.945 of the time that it takes with a grid that
/// goes around.
bool accesses_wide(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

/// Whether iterations load from several rows of an array, so that those of neighbouring rows share loads.
bool loads_several_rows(const ir::Statement& loop);

/// Packets of a thread in a tile of a loop that loads from several rows. A thread that has nothing but its
/// tile takes two, because finding the tile costs as much as a packet: a 5-point stencil of 1 GiB on an H200
/// ran at 0.93 of nvcc's speed with one, 0.99 with two, 0.97 with four.
std::uint32_t tile_packets(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions);

}  // namespace weir::codegen
