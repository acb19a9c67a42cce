// SPDX-License-Identifier: Apache-2.0
// Checks for arrays used by work: alive, on the right device, ordered after their earlier uses.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <weir/array.hpp>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// Returns the memory block of a view. Throws Error{invalid} when it was freed, and Error{unsupported} if the
/// view is strided.
MemoryBlock& live(const AnyArrayView& view);
/// The same without the second.
MemoryBlock& live_or_strided(const AnyArrayView& view);

/// AnyArrayView::alive(), inlined for checks at each launch.
inline bool is_alive(const AnyArrayView& view) noexcept {
  return view.block() && view.block()->generation.load(std::memory_order_acquire) == view.generation();
}

/// Throws Error{unsupported}: "`what` takes contiguous arrays, ...".
[[noreturn]] void throw_strided(std::string_view what);

/// The extents of a view, for functions that take a span.
struct Extents {
  explicit Extents(const AnyArrayView& view) noexcept : rank(view.rank()) {
    for (std::size_t d = 0; d < rank; ++d) all[d] = view.extent(d);
  }
  operator std::span<const std::int64_t>() const noexcept { return {all.data(), rank}; }
  friend bool operator==(const Extents&, const Extents&) = default;
  std::array<std::int64_t, max_rank> all{};
  std::size_t rank;
};

/// The bytes of the memory block from the first that a view reaches to the last.
struct Reach {
  std::uint64_t begin = 0, bytes = 0;
};
Reach reach_of_strided(const AnyArrayView& view) noexcept;
inline Reach reach_of(const AnyArrayView& view) noexcept {
  if (!view.contiguous()) [[unlikely]]
    return reach_of_strided(view);
  return {view.offset(), view.size_bytes()};
}

/// The reaches of two views, counted from the same address. Empty if they cannot share memory: only borrowed
/// memory may also be that of another memory block.
inline std::pair<Reach, Reach> comparable_reaches(const AnyArrayView& a, const AnyArrayView& b) noexcept {
  Reach reach_a = reach_of(a), reach_b = reach_of(b);
  if (a.block() != b.block()) {
    if (!a.block() || !b.block() || (!a.block()->borrowed && !b.block()->borrowed)) [[likely]]
      return {};
    reach_a.begin += a.block()->address;
    reach_b.begin += b.block()->address;
  }
  return {reach_a, reach_b};
}

/// True if two views share memory, or if elements of one lie between those of the other.
inline bool overlap(const AnyArrayView& a, const AnyArrayView& b) noexcept {
  const auto [reach_a, reach_b] = comparable_reaches(a, b);
  return reach_a.bytes != 0 && reach_b.bytes != 0 && reach_a.begin < reach_b.begin + reach_b.bytes &&
         reach_b.begin < reach_a.begin + reach_a.bytes;
}

/// True if two contiguous views are of the same bytes.
inline bool coincide(const AnyArrayView& a, const AnyArrayView& b) noexcept {
  const auto [reach_a, reach_b] = comparable_reaches(a, b);
  return reach_a.begin == reach_b.begin && reach_a.bytes == reach_b.bytes;
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
