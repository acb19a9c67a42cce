// SPDX-License-Identifier: Apache-2.0
// State of a stream handle. States are never freed. A handle holds its generation, so one load detects use
// after destruction.
#pragma once

#include <weir/driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/memory/size_class.hpp"
#include "runtime/streams/last_launch.hpp"
#include "runtime/streams/submission_lock.hpp"

namespace weir {
struct KernelOrigin;
}

namespace weir::detail {

inline constexpr std::uint32_t max_streams = 4096;  ///< per device, at the same time

struct DeviceState;
struct EventState;
struct GridBarriers;
struct MemoryBlock;
struct PrintBuffer;
struct StreamRecord;
struct StreamRecords;
struct StreamState;
struct ValuePieces;

/// Counts of submitted and completed work. Every submission updates them; the memory pool and waits read
/// them.
struct StreamProgress {
  std::atomic<std::uint64_t> submitted{0};  ///< counted after each submission
  std::atomic<std::uint64_t> completed{0};  ///< as last observed by the host
  std::atomic<bool> unflushed{false};       ///< work was submitted since the last flush

  /// Called after each submission to the driver stream.
  void note_submission() noexcept {
    submitted.fetch_add(1, std::memory_order_release);
    if (!unflushed.load(std::memory_order_relaxed)) unflushed.store(true, std::memory_order_release);
  }
  /// Two threads at once may leave the smaller of their counts. That is right too, if not new, and saves an
  /// atomic read-modify-write operation in each wait.
  void note_completion(std::uint64_t up_to) noexcept {
    if (completed.load(std::memory_order_relaxed) < up_to) completed.store(up_to, std::memory_order_release);
  }
  /// True if the host has observed the completion of all submissions.
  bool all_completed() const noexcept {
    const std::uint64_t now = submitted.load(std::memory_order_acquire);
    return completed.load(std::memory_order_acquire) >= now;
  }
};

/// State for leased streams and their callers; see leased_streams.cpp. `joined_into` is the caller that
/// leased the stream last. Once that caller has passed `joined_at`, the leased stream is idle too.
struct StreamLease {
  std::int32_t slot = -1;  ///< position among the device's leased streams
  std::atomic<StreamState*> joined_into{nullptr};
  std::atomic<std::uint64_t> joined_at{0};
  std::atomic<std::uint64_t> leased_at{0};  ///< reading of the manager's clock at the last lease
  std::atomic<bool> failed{false};          ///< possibly broken; replaced on the next lease
  /// Of a caller: the slots of leased streams that were joined into it since the host last waited, as bits.
  std::atomic<std::uint64_t> joined_streams{0};
};

/// By size class, each linked through MemoryBlock::next, the one freed last first.
using CacheLists = std::array<MemoryBlock*, size_class_count>;

/// Freed memory blocks used on one stream only; later work of that stream may reuse them at once.
struct StreamCache {
  std::mutex mutex;  // held for a few instructions, never during a driver call
  CacheLists lists{};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> granted{0};  ///< bytes for which the pool's limit was checked
  std::uint64_t allocations = 0;
  /// For other streams' requests: an event of this stream, and the submissions before it; null if none waits.
  EventState* progress = nullptr;
  std::uint64_t progress_at = 0;
  /// By class: the completed submissions when its memory blocks were last looked through for other streams.
  std::array<std::uint64_t, size_class_count> looked_at{};
};

struct alignas(64) StreamState : StreamProgress {
  StreamState(DeviceState& device_, std::uint32_t slot_) : device(device_), slot(slot_) {}

  DeviceState& device;
  const std::uint32_t slot;        ///< position in the device's table of streams
  SubmissionLock submission_lock;  ///< held during each submission
  std::atomic<const void*> sequence{
      nullptr};                              ///< the thread of an open SubmissionSequence; set under the lock
  std::atomic<std::uint64_t> generation{0};  ///< odd while a handle or the pool of leased streams uses it
  weir_stream stream = nullptr;              ///< driver stream; the same from creation to retirement
  weir_event mark = nullptr;                 ///< for fork, join and wait: recorded, then waited on at once
  int priority = 0;
  bool foreign = false;             ///< wraps a handle that Weir does not own
  std::atomic<bool> closed{false};  ///< set under the submission lock; nothing is submitted afterwards

  std::atomic<const KernelOrigin*> last_kernel{nullptr};
  std::atomic<StreamRecords*> records{nullptr};  ///< see stream_errors.hpp; created when first needed
  std::atomic<PrintBuffer*> prints{nullptr};     ///< see print_buffer.hpp; created likewise
  std::atomic<GridBarriers*> barriers{nullptr};  ///< see grid_barriers.hpp; created likewise
  std::atomic<ValuePieces*> pieces{nullptr};     ///< see returned_values.hpp; created likewise
  LastLaunch last_launch;
  StreamLease lease;
  StreamCache cache;

  // Retirement, by the stream manager.
  static constexpr std::uint32_t retiring = 0x80000000u;
  /// Threads in StreamManager::pin, and `retiring` while there is no driver stream.
  std::atomic<std::uint32_t> pins{retiring};
  EventState* final_mark = nullptr;  ///< after retirement with work in flight; guarded by the manager
  StreamState* next_free = nullptr;  ///< link in the list of free slots; guarded by the manager

  bool retired() const noexcept { return pins.load(std::memory_order_acquire) & retiring; }
  /// The kernel launched last, for error messages; null when none was launched.
  const KernelOrigin* launched_last() const noexcept { return last_kernel.load(std::memory_order_relaxed); }
  /// True if everything that Weir submitted is known to be done. Does not call the driver.
  bool known_idle() const noexcept {
    if (foreign) return false;  // other libraries submit to it as well
    if (all_completed()) return true;
    const StreamState* caller = lease.joined_into.load(std::memory_order_acquire);
    return caller && caller->completed.load(std::memory_order_acquire) >=
                         lease.joined_at.load(std::memory_order_acquire);
  }
};

}  // namespace weir::detail
