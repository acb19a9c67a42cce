// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/staging.hpp"

#include <algorithm>
#include <bit>

#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

constexpr std::size_t alignment = 64;  // of a cache line: no two arrays share one
constexpr std::size_t min_bytes = 4096;

std::size_t room_of(Staged::Views views) {
  std::size_t bytes = 0;
  for (const AnyArrayView& view : views) {
    live(view);
    bytes += (view.size_bytes() + alignment - 1) / alignment * alignment;
  }
  return bytes;
}

/// False for memory of a stream that failed: its copies may still run.
bool is_idle(const StagingMemory& memory) {
  if (memory.is_taken) return false;
  try {
    return memory.end.query();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

StagingMemory::StagingMemory(const Device& on, std::size_t size)
    : device(on.state()), bytes(size), memory(on, size), begin(on.create_event()), end(on.create_event()) {}

std::shared_ptr<StagingMemory> StagingPool::take(const Device& device, std::size_t bytes) {
  std::shared_ptr<StagingMemory>* best = nullptr;
  for (std::shared_ptr<StagingMemory>& one : all_)
    if (one->device == device.state() && one->bytes >= bytes && (!best || one->bytes < (*best)->bytes) &&
        is_idle(*one))
      best = &one;
  if (!best) {
    all_.push_back(std::make_shared<StagingMemory>(device, std::bit_ceil(std::max(bytes, min_bytes))));
    best = &all_.back();
  }
  (*best)->is_taken = true;
  return *best;
}

Staged::Staged(StagingPool& pool, const Device& device, Views sent, Views received)
    : staging_(pool.take(device, room_of(sent) + room_of(received))) {
  auto* place = static_cast<std::byte*>(staging_->memory.data());
  const auto add = [&](std::vector<std::span<std::byte>>& parts, Views views) {
    for (const AnyArrayView& view : views) {
      parts.emplace_back(place, view.size_bytes());
      place += (view.size_bytes() + alignment - 1) / alignment * alignment;
    }
  };
  add(sent_, sent);
  add(received_, received);
}

}  // namespace weir::detail
