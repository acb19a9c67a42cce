// SPDX-License-Identifier: Apache-2.0
// A stream: an in-order queue of operations, numbered from 1. A mark is such a number; it is reached when
// that operation and all earlier ones are complete. Events are marks, and therefore need no operation.
#pragma once

#include <oneapi/tbb/spin_mutex.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "device.hpp"
#include "stream/operation.hpp"
#include "stream/scheduler.hpp"

namespace weir::cpu {

/// A recipient of the notification that a stream reached a mark: another stream, or a sleeping host thread.
struct Waiter {
  Waiter* next = nullptr;
  std::uint64_t mark = 0;
  Stream* stream = nullptr;                      ///< resumed, when not null,
  std::atomic<std::uint32_t>* signal = nullptr;  ///< otherwise signalled
};

/// Learns whether a host thread waits for a stream at once after it has submitted medium work. Guarded by the
/// stream's mutex.
class HostHabit {
 public:
  /// Whether the host is expected to wait. After a disappointment it is false for a while, which grows.
  bool expects_wait() noexcept {
    if (distrusted_ == 0) return true;
    --distrusted_;
    return false;
  }
  void waited() noexcept { last_distrust_ = 0; }
  void stayed_away() noexcept {
    last_distrust_ = last_distrust_ == 0 ? 16 : std::min<std::uint32_t>(2 * last_distrust_, 1024);
    distrusted_ = last_distrust_;
  }

 private:
  std::uint32_t distrusted_ = 0;     ///< submissions until the next trial
  std::uint32_t last_distrust_ = 0;  ///< their number after the last disappointment
};

struct Stream : Object {
  static constexpr Kind object_kind = Kind::stream;
  static constexpr std::uint64_t no_mark = std::numeric_limits<std::uint64_t>::max();

  /// idle: nothing queued. queued: any thread may claim it. running: one thread, the owner, drains it.
  /// parked: its next operation waits for a mark or for a callback.
  enum class State : std::uint8_t { idle, queued, running, parked };

  Device* device = nullptr;
  std::atomic<std::uint32_t> references{0};  ///< of the handle, queued work, ready list, marks, waits

  tbb::spin_mutex mutex;  // guards from here; held for a few instructions, never while anything runs
  State state = State::idle;
  bool listed = false;     ///< in the ready list, possibly with nothing left to do
  bool busy = false;       ///< has medium or heavy work
  bool held = false;       ///< that work was held back for a host thread; otherwise it is urgent
  bool abandoned = false;  ///< destroyed before it was idle: the thread that ends its work drops a reference
  Operation* first = nullptr;
  Operation* last = nullptr;
  std::uint32_t queued_operations = 0;
  Operation* spare = nullptr;
  std::uint32_t spare_operations = 0;
  HostHabit host_habit;
  std::uint64_t held_since = 0;  ///< time stamp counter
  Waiter* waiters = nullptr;
  Stream* parked_on = nullptr;
  std::uint64_t parked_mark = 0;

  // accessed by the owner only
  Operation* taken = nullptr;
  Operation* done = nullptr;
  Operation* done_end = nullptr;  ///< the operation that was done first
  std::uint32_t done_operations = 0;
  Waiter as_waiter;

  Stream* next_in_list = nullptr;  // used by the ready list

  alignas(64) std::atomic<std::uint64_t> submitted{0};  ///< written under the mutex
  alignas(64) std::atomic<std::uint64_t> completed{0};  ///< written by the owner
  std::atomic<std::uint64_t> watched_mark{no_mark};     ///< the smallest mark that a waiter waits for
  std::atomic<weir_result> error{WEIR_OK};              ///< stays once set

  /// Has work that is worth a wake-up. The mutex must be held.
  bool urgent() const noexcept { return busy && !held; }
  bool reached(std::uint64_t mark) const noexcept {
    return completed.load(std::memory_order_seq_cst) >= mark;
  }
  void add_reference() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept;
};

/// An idle stream with one reference, and no handle yet.
Stream& take_stream(Device& device);

/// An operation to fill in: recycled, or new. The stream's mutex must be held.
Operation* take_operation(Stream& stream);

/// Allocates operations, so that `count` later ones are recycled. The stream must not be in use.
void reserve_operations(Stream& stream, std::uint32_t count);

/// Throws the stream's error, if it has one.
void check_stream(const Stream& stream);

/// Appends an operation that `fill` fills in, which must not throw. In an idle stream, light and medium work
/// may be held back for a moment, so that a host that is about to wait runs it without waking a thread.
template <class Fill>
void submit(Stream& stream, Weight weight, Fill&& fill) {
  check_stream(stream);
  Announcement announcement;
  {
    std::lock_guard lock(stream.mutex);
    Operation* operation = take_operation(stream);
    operation->next = nullptr;
    fill(*operation);
    (stream.last ? stream.last->next : stream.first) = operation;
    stream.last = operation;
    ++stream.queued_operations;
    stream.submitted.store(stream.submitted.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    announcement = note_submitted(stream, weight);
  }
  Scheduler::get().announce(stream, announcement);
}

}  // namespace weir::cpu
