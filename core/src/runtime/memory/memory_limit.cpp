// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/memory_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <weir/error.hpp>

#include "byte_count.hpp"

namespace weir::detail {

std::optional<std::uint64_t> pool_bytes(const char* text) {
  const std::string_view word = text ? text : "";
  if (word.empty()) return {};
  const std::optional<std::uint64_t> bytes = parse_byte_count(word);
  if (!bytes)
    throw Error(
        ErrorCode::invalid,
        fmt::format("the environment variable WEIR_POOL_BYTES is '{}'; expected a number of bytes, as in "
                    "268435456, 256M or 0",
                    word));
  return bytes;
}

std::uint64_t CacheLimit::bytes() const noexcept {
  if (fixed_) return *fixed_;
  const std::uint64_t used =
      std::max({least, recent_.load(std::memory_order_relaxed), before_.load(std::memory_order_relaxed)});
  return device_bytes_ ? std::min(used, device_bytes_ / 2) : used;
}

void CacheLimit::note_use(std::uint64_t bytes) noexcept {
  std::uint64_t most = recent_.load(std::memory_order_relaxed);
  while (most < bytes && !recent_.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
  }
  if (count_.fetch_add(1, std::memory_order_relaxed) % window == window - 1)
    before_.store(recent_.exchange(bytes, std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace weir::detail
