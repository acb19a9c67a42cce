// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/memory_limit.hpp"

#include <algorithm>

namespace weir::detail {

std::uint64_t CacheLimit::peak_in_use() const noexcept {
  const std::uint64_t used =
      std::max({min_bytes, recent_.load(std::memory_order_relaxed), before_.load(std::memory_order_relaxed)});
  return device_bytes_ ? std::min(used, device_bytes_ / 2) : used;
}

// The bytes by which requests for evicted memory blocks may raise the bound.
std::uint64_t CacheLimit::max_raised() const noexcept {
  const std::uint64_t most = (device_bytes_ ? device_bytes_ : std::uint64_t{8} << 30) / 8;
  return most - std::min(most, peak_in_use());
}

std::uint64_t CacheLimit::bytes() const noexcept {
  if (fixed_) return *fixed_;
  return peak_in_use() + std::min(requested_again_.load(std::memory_order_relaxed), max_raised());
}

void CacheLimit::note_allocation(std::uint32_t size_class, std::uint64_t bytes_in_use) noexcept {
  std::uint64_t most = recent_.load(std::memory_order_relaxed);
  while (most < bytes_in_use &&
         !recent_.compare_exchange_weak(most, bytes_in_use, std::memory_order_relaxed)) {
  }
  const std::uint32_t now = count_.fetch_add(1, std::memory_order_relaxed);
  if (now % window == window - 1)
    before_.store(recent_.exchange(bytes_in_use, std::memory_order_relaxed), std::memory_order_relaxed);
  const std::uint64_t size = class_bytes(size_class), limit = max_raised();
  const bool again = was_evicted(size_class, now);
  std::uint64_t bytes = requested_again_.load(std::memory_order_relaxed), next;
  do {
    next = again ? std::min(bytes + size, limit) : bytes - std::min(bytes, size);
  } while (!requested_again_.compare_exchange_weak(bytes, next, std::memory_order_relaxed));
}

// True if a recently evicted memory block would have served the request; it is then no longer counted.
bool CacheLimit::was_evicted(std::uint32_t size_class, std::uint32_t now) noexcept {
  for (const std::uint32_t last = largest_fit(size_class); size_class <= last; ++size_class) {
    std::atomic<Evicted>& entry = evicted_[size_class];
    Evicted evicted = entry.load(std::memory_order_relaxed), next;
    do {
      if (evicted.blocks == 0 || now - evicted.last_at > recall) break;
      next = {evicted.blocks - 1, evicted.last_at};
    } while (!entry.compare_exchange_weak(evicted, next, std::memory_order_relaxed));
    if (evicted.blocks != 0 && now - evicted.last_at <= recall) return true;
  }
  return false;
}

void CacheLimit::note_eviction(std::uint32_t size_class) noexcept {
  const std::uint32_t now = count_.load(std::memory_order_relaxed);
  std::atomic<Evicted>& entry = evicted_[size_class];
  Evicted evicted = entry.load(std::memory_order_relaxed), next;
  do {
    next = {now - evicted.last_at > recall ? 1 : evicted.blocks + 1, now};
  } while (!entry.compare_exchange_weak(evicted, next, std::memory_order_relaxed));
}

}  // namespace weir::detail
