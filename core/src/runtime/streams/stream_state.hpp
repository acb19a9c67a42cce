// SPDX-License-Identifier: Apache-2.0
// State of a stream handle. States are never freed. A handle holds its generation, so one load detects use
// after destruction.
#pragma once

#include <weir/driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/memory/size_class.hpp"
#include "runtime/streams/submission_lock.hpp"

namespace weir {
struct KernelOrigin;
}
namespace weir::ir {
struct ErrorRecord;
}

namespace weir::detail {

inline constexpr std::uint32_t max_streams = 4096;  ///< per device, at the same time

struct Block;
struct DeviceState;
struct EventState;

/// Freed blocks used on one stream only; later work of that stream may reuse them at once.
struct StreamCache {
  std::mutex mutex;  // held for a few instructions, never during a driver call
  std::array<Block*, size_class_count> lists{};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> granted{0};  ///< bytes for which the pool's limit was checked
  std::uint64_t allocations = 0;
};

/// Record of a stream's failed assertions; created by the first launch that needs it.
struct StreamRecord {
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;
  ir::ErrorRecord* host = nullptr;  ///< null if the host cannot read it in place; each wait then copies it
};

struct alignas(64) StreamState {
  StreamState(DeviceState& device_, std::uint32_t slot_) : device(device_), slot(slot_) {}

  DeviceState& device;
  const std::uint32_t slot;                  ///< position in the device's table of streams
  SubmissionLock submission_lock;            ///< held during each submission
  std::atomic<std::uint64_t> generation{0};  ///< odd while a handle or the pool of leased streams uses it
  weir_stream stream = nullptr;              ///< driver stream; the same from creation to retirement
  weir_event mark = nullptr;                 ///< for fork, join and wait: recorded, then waited on at once
  int priority = 0;
  bool foreign = false;             ///< wraps a handle that Weir does not own
  std::atomic<bool> closed{false};  ///< set under the submission lock; nothing is submitted afterwards

  std::atomic<std::uint64_t> submitted{0};  ///< counted after each submission
  std::atomic<std::uint64_t> completed{0};  ///< as last observed by the host
  std::atomic<bool> unflushed{false};
  std::atomic<const KernelOrigin*> last_kernel{nullptr};
  std::atomic<StreamRecord*> record{nullptr};

  static constexpr std::uint32_t retiring = 0x80000000u;
  std::atomic<std::uint32_t> pins{
      retiring};                     ///< see StreamManager::pin; `retiring` while there is no driver stream
  EventState* final_mark = nullptr;  ///< after retirement with work in flight; guarded by the manager
  StreamState* next_free = nullptr;  ///< link in the list of free slots; guarded by the manager

  // Fields of leased streams. `joined_into` is the caller that leased the stream last. Once that caller has
  // passed `joined_at`, the leased stream is idle too.
  std::int32_t lease_slot = -1;  ///< position among the leased streams
  std::atomic<StreamState*> joined_into{nullptr};
  std::atomic<std::uint64_t> joined_at{0};
  std::atomic<std::uint64_t> leased_at{0};
  std::atomic<bool> failed{false};  ///< possibly broken; replaced on the next lease
  std::atomic<std::uint64_t> joined_streams{
      0};  ///< of a caller: leased streams joined into it since the host last waited

  StreamCache cache;

  /// The kernel launched last, for error messages; null when none was launched.
  const KernelOrigin* launched_last() const noexcept { return last_kernel.load(std::memory_order_relaxed); }
  /// True if everything that Weir submitted is known to be done. Does not call the driver.
  bool known_idle() const noexcept {
    if (foreign) return false;  // other libraries submit to it as well
    const std::uint64_t now = submitted.load(std::memory_order_acquire);
    if (completed.load(std::memory_order_acquire) >= now) return true;
    const StreamState* caller = joined_into.load(std::memory_order_acquire);
    return caller &&
           caller->completed.load(std::memory_order_acquire) >= joined_at.load(std::memory_order_acquire);
  }
  /// Called after each submission to the driver stream.
  void note_submission() noexcept {
    submitted.fetch_add(1, std::memory_order_release);
    if (!unflushed.load(std::memory_order_relaxed)) unflushed.store(true, std::memory_order_release);
  }
  void note_completion(std::uint64_t up_to) noexcept {
    std::uint64_t seen = completed.load(std::memory_order_relaxed);
    while (seen < up_to && !completed.compare_exchange_weak(seen, up_to, std::memory_order_release)) {
    }
  }
};

}  // namespace weir::detail
