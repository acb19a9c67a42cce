// SPDX-License-Identifier: Apache-2.0
// Packets: consecutive iterations that one thread runs together. Its accesses then have the width that the
// memory system prefers, or common values are loaded once. Long iterations run in small blocks instead.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// The approximate number of operations of a statement. Nothing for control statements and those that may end
/// an iteration early, so that iterations must run one by one.
std::optional<std::uint32_t> straight_cost(const ir::Statement& s);

/// Iterations per packet of a `parallel` loop: a power of two, or 1 where packets have no advantage.
std::uint32_t packet_width(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions);

/// Whether straight code accesses 16 bytes or more of an array at a time. Such loops reach the highest
/// bandwidth when every thread runs one packet: a copy of 3 GiB on an H200 took 0.945 of the time of a
/// grid-stride loop.
bool accesses_wide(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

/// Whether iterations load from several rows of an array, so that iterations of neighbouring rows share
/// loads.
bool loads_several_rows(const ir::Statement& loop);

/// Packets of a thread in a tile of a loop that loads from several rows. A thread without other work takes
/// two, because computing the tile's position costs as much as a packet. A 5-point stencil of 1 GiB on an
/// H200 ran at 0.93 of nvcc's speed with one, 0.99 with two, 0.97 with four.
std::uint32_t tile_packets(const ir::Kernel& kernel, const ir::Statement& loop,
                           const LaunchAssumptions& assumptions);

/// Whether an iteration of a parallel loop is long code, for example of many merged loops. Such loops run in
/// blocks of the fewest threads. The iterations then use more multiprocessors, and a block whose threads use
/// many registers leaves room for others. False for loops whose threads work together.
bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

}  // namespace weir::codegen
