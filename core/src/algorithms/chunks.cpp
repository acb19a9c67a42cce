// SPDX-License-Identifier: Apache-2.0
#include "algorithms/chunks.hpp"

#include <algorithm>

#include "ir/task.hpp"

namespace weir::algorithms {

namespace {

constexpr std::uint64_t min_chunk = 1024;
constexpr std::uint64_t chunks_per_core = 4;

Chunks chunks_of(std::uint64_t elements, std::uint64_t size) {
  return {static_cast<std::int64_t>(size), static_cast<std::int64_t>((elements + size - 1) / size)};
}

}  // namespace

Chunks fixed_chunks(std::uint64_t elements) {
  return chunks_of(elements, ir::reduce_chunk(elements));
}

Chunks device_chunks(const Device& device, std::uint64_t elements, std::uint64_t limit) {
  const DeviceInfo& info = device.info();
  const std::uint64_t units = std::max(info.multiprocessors, 1u);
  const std::uint64_t threads =
      info.max_threads_per_multiprocessor ? info.max_threads_per_multiprocessor : 2048;
  const std::uint64_t max_chunks =
      std::clamp<std::uint64_t>(units * (info.kind == DeviceKind::cpu ? chunks_per_core : threads), 1, limit);
  return chunks_of(elements, std::max(min_chunk, (elements + max_chunks - 1) / max_chunks));
}

}  // namespace weir::algorithms
