// SPDX-License-Identifier: Apache-2.0
// Checks for arrays used by work: alive, on the right device, ordered after their earlier uses.
#pragma once

#include <weir/array.hpp>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// Returns the memory block of a view. Throws Error{invalid} when it was freed.
MemoryBlock& live(const AnyArrayView& view);

/// AnyArrayView::alive(), inlined for checks at each launch.
inline bool is_alive(const AnyArrayView& view) noexcept {
  return view.block() && view.block()->generation.load(std::memory_order_acquire) == view.generation();
}

/// True if two views share memory. Borrowed memory may also be that of another memory block.
inline bool overlap(const AnyArrayView& a, const AnyArrayView& b) noexcept {
  std::uint64_t begin_a = a.offset(), begin_b = b.offset();
  if (a.block() != b.block()) {
    if (!a.block() || !b.block() || (!a.block()->borrowed && !b.block()->borrowed)) [[likely]]
      return false;
    begin_a += a.block()->address;
    begin_b += b.block()->address;
  }
  return a.size_bytes() != 0 && b.size_bytes() != 0 && begin_a < begin_b + b.size_bytes() &&
         begin_b < begin_a + a.size_bytes();
}

/// Returns the memory block of a view for work on `stream`, ordered after its earlier uses. `what` names the
/// view in errors: "argument 2".
template <class What>
MemoryBlock& use_on(const AnyArrayView& view, StreamState& stream, What&& what) {
  MemoryBlock& block = live(view);
  if (&block.device != &stream.device) [[unlikely]]
    throw_other_device(what() + " is on device", block.device, "but the stream is of", stream.device,
                       copy_array_there);
  block.device.memory.use(block, stream);
  return block;
}

}  // namespace weir::detail
