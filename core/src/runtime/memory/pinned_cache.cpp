// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/pinned_cache.hpp"

#include <exception>
#include <utility>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

PinnedCache::Block PinnedCache::take(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at)
    if (at->bytes >= bytes && at->bytes / 2 <= bytes && (best == kept_.end() || at->bytes < best->bytes))
      best = at;
  if (best == kept_.end()) return {};
  const Block found = *best;
  kept_.erase(best);
  return found;
}

void PinnedCache::put(weir_allocation allocation) noexcept {
  if (!device_.streams.waits_for_ranks()) return free(allocation);
  weir_memory_info info{};
  info.struct_size = sizeof info;
  if (device_.call_no_throw([&](weir_status* status) {
        return device_.table().memory_get_info(allocation, &info, status);
      }) != WEIR_OK)
    return free(allocation);
  try {
    const std::lock_guard lock(mutex_);
    kept_.push_back({allocation, info.host_pointer, info.size});
  } catch (const std::exception&) {  // no host memory for the entry
    free(allocation);
  }
}

std::uint64_t PinnedCache::trim() noexcept {
  std::vector<Block> all;
  {
    const std::lock_guard lock(mutex_);
    all = std::exchange(kept_, {});
  }
  std::uint64_t bytes = 0;
  for (const Block& block : all) {
    bytes += block.bytes;
    free(block.allocation);
  }
  return bytes;
}

void PinnedCache::free(weir_allocation allocation) noexcept {
  device_.call_no_throw([&](weir_status* status) { return device_.table().memory_free(allocation, status); });
}

}  // namespace weir::detail
