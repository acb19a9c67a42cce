// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/staging.hpp"

#include <algorithm>
#include <bit>

#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

constexpr std::size_t alignment = 64;  // of a cache line: no two arrays share one
constexpr std::size_t min_bytes = 4096;
constexpr std::size_t max_calls = 256;        // in flight, of a rank
constexpr std::size_t max_bytes = 256 << 20;  // in flight if they are of more than one call

std::size_t room_of(Staged::Views views) {
  std::size_t bytes = 0;
  for (const AnyArrayView& view : views) {
    live(view);
    bytes += (view.size_bytes() + alignment - 1) / alignment * alignment;
  }
  return bytes;
}

}  // namespace

StagingMemory::StagingMemory(const Device& on, std::size_t size)
    : device(on.state()), bytes(size), memory(on, size), begin(on.create_event()), end(on.create_event()) {}

/// Removes the calls that have ended, and waits until another one of `bytes` bytes may be in flight.
void StagingPool::collect(std::size_t bytes) {
  while (!in_flight_.empty()) {
    StagingMemory& oldest = *in_flight_.front();
    const bool full =
        in_flight_.size() == max_calls || (in_flight_.size() > 1 && in_flight_bytes_ + bytes > max_bytes);
    if (!oldest.is_taken) try {
        if (full) oldest.end.synchronize();
        if (!oldest.end.query()) return;
      } catch (const Error&) {  // the stream failed; its copies may still run
        oldest.is_taken = true;
      }
    (oldest.is_taken ? kept_ : unused_).push_back(in_flight_.front());
    in_flight_bytes_ -= oldest.bytes;
    in_flight_.pop_front();
  }
}

std::shared_ptr<StagingMemory> StagingPool::take(const Device& device, std::size_t bytes) {
  collect(bytes);
  auto best = unused_.end();
  for (auto one = unused_.begin(); one != unused_.end(); ++one)
    if ((*one)->device == device.state() && (*one)->bytes >= bytes &&
        (best == unused_.end() || (*one)->bytes < (*best)->bytes))
      best = one;
  if (best == unused_.end())
    best = unused_.insert(best,
                          std::make_shared<StagingMemory>(device, std::bit_ceil(std::max(bytes, min_bytes))));
  in_flight_.push_back(*best);
  unused_.erase(best);
  const std::shared_ptr<StagingMemory>& taken = in_flight_.back();
  in_flight_bytes_ += taken->bytes;
  taken->is_taken = true;
  return taken;
}

void StagingPool::synchronize() const {
  for (const auto& memory : in_flight_) memory->begin.synchronize();
  for (const auto& memory : kept_) memory->begin.synchronize();
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
