// SPDX-License-Identifier: Apache-2.0
// Marks of memory that was never written since its array was created, for debugged launches.
#pragma once

#include <cstdint>

#include "runtime/memory/memory_pool.hpp"

namespace weir::detail {

/// Whether new arrays are marked: WEIR_DEBUG is set, or mark_new_arrays() was called.
bool marks_new_arrays() noexcept;
void mark_new_arrays() noexcept;

/// Fills the first `bytes` of a new memory block with interpreter::unwritten_word, in the order of `stream`,
/// before any use on other streams.
void mark_unwritten(MemoryBlock& block, StreamState& stream, std::uint64_t bytes);

}  // namespace weir::detail
