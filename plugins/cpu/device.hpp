// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "object.hpp"

namespace weir::cpu {

/// One device. All devices share the machine's cores and memory; they live as long as the process.
struct Device : Object {
  static constexpr Kind object_kind = Kind::device;
  std::uint32_t index = 0;
  std::mutex mutex;  ///< guards the count, and that `kind` agrees with it
  std::uint32_t openings = 0;
  std::atomic<std::uint32_t> unfinished{0};  ///< streams that were destroyed before they were idle
};

struct DeviceLimits {
  static constexpr std::uint32_t max_block_threads = 1024;
  static constexpr std::uint32_t max_block[3] = {1024, 1024, 1024};
  // The product stays below 2^63, so that block numbers never wrap around.
  static constexpr std::uint32_t max_grid[3] = {0x7fffffff, 65535, 65535};
  static constexpr std::uint32_t max_shared_bytes = 256 * 1024;
  static constexpr std::uint32_t max_argument_bytes = 4096;
  static constexpr std::uint32_t memory_alignment = 64;
};

}  // namespace weir::cpu
