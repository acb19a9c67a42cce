// SPDX-License-Identifier: Apache-2.0
// Division of an array into chunks.
#pragma once

#include <cstdint>
#include <weir/device.hpp>

namespace weir::algorithms {

/// Consecutive elements that one iteration processes.
struct Chunks {
  std::int64_t size;
  std::int64_t count;
};
/// Chunks whose size, and so the order of combination, depends on the number of elements only: those of
/// reductions (ir/task.hpp).
Chunks fixed_chunks(std::uint64_t elements);
/// At most as many chunks as keep the device busy, and at most `limit`.
Chunks device_chunks(const Device& device, std::uint64_t elements, std::uint64_t limit);

}  // namespace weir::algorithms
