// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/unwritten.hpp"

#include <atomic>

#include "driver/environment.hpp"
#include "interpreter/checks.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

std::atomic<bool>& marking() {
  static std::atomic<bool> on{!secure_environment("WEIR_DEBUG").empty()};
  return on;
}

}  // namespace

bool marks_new_arrays() noexcept {
  return marking().load(std::memory_order_relaxed);
}

void mark_new_arrays() noexcept {
  marking().store(true, std::memory_order_relaxed);
}

void mark_unwritten(MemoryBlock& block, StreamState& stream, std::uint64_t bytes) {
  DeviceState& device = stream.device;
  device.memory.use(block, stream);
  const Submission submission(stream);
  std::uint64_t at = 0;
  for (std::uint32_t size = 8; size >= 4; size /= 2) {  // the pattern, then half of it
    const std::uint64_t length = (bytes - at) / size * size;
    if (length == 0) continue;
    device.call("mark a new array as unwritten", [&](weir_status* status) {
      return device.table().fill(stream.stream, block.allocation, at, length, &interpreter::unwritten_word,
                                 size, status);
    });
    stream.note_submission();
    at += length;
  }
  // Otherwise the pattern could replace what another stream writes first.
  device.memory.order_others_after(block, stream);
}

}  // namespace weir::detail
