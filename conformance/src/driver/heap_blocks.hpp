// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weir::conformance {

/// False in builds with sanitizers, which have a heap of their own.
bool counts_heap_blocks() noexcept;

/// The number of blocks that this process, drivers and their libraries included, has allocated with malloc
/// and its relatives and has not freed. Unlike the bytes in use, it does not depend on how the heap rounds
/// sizes. Thread-safe.
std::int64_t heap_blocks() noexcept;
/// The usable bytes of these blocks.
std::int64_t heap_bytes() noexcept;

}  // namespace weir::conformance
