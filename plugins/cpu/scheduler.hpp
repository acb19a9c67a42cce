// SPDX-License-Identifier: Apache-2.0
// How work gets done.
//
// A stream with work is claimed by one thread at a time, which drains it in order. Three kinds of thread do so:
// workers (as many as there are cores, inside the arena), host threads that wait for a mark, and nobody else. At
// most as many threads drain as there are cores, waiting hosts included, so that equal work on several streams is
// not slowed by time slicing. A grid of several blocks is shared with oneTBB's own threads while cores are free.
//
// Starting. Work that is worth it (many blocks, or known to take long) puts its stream on the ready list and wakes
// a worker. Tiny work only goes on the list: a host that waits claims the stream itself, which costs no thread
// hand-over; a worker that is looking for work takes it; else one idle worker, the ticker, looks every 50
// microseconds. The ticker falls asleep after 2 idle milliseconds; tiny work that comes then wakes it.
//
// Waiting. A stream that waits for a mark of another parks as a waiter of that stream; no thread is blocked. A host
// thread that waits follows the chain of parked streams from the one it waits for and drains what it finds at the
// end, up to the mark that is needed. If somebody else is at it, it spins for some microseconds, then sleeps.
//
// Locks. A stream's mutex guards its queue for a few instructions. The ready list is pushed without a lock and
// popped by workers under one that submitting threads never take. No lock is held while anything runs.
//
// Callbacks run on threads of their own (callbacks.hpp); the stream is parked meanwhile. So it is while nodes of its graph
// run on other threads and there is none to begin (graph_run.cpp).
//
// Everything here is leaked on purpose: workers live until the process is gone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace weir::cpu {

struct Stream;
struct Operation;
class Arena;

// In time stamp ticks, of which about 3 make a nanosecond.
inline constexpr std::uint64_t light_ticks = 30'000;  ///< work of less is not worth waking a worker for
inline constexpr std::uint64_t solo_ticks =
    6'000;  ///< work of less is done before another core has heard of it
inline constexpr std::uint64_t turn_ticks =
    1'500'000;  ///< after these a worker lets other streams have their turn

/// What a thread that submitted has to do after it let go of the stream's mutex. Bits, because three bools come back
/// from a call through memory, which costs more than a lock.
struct Announcement {
  static constexpr std::uint32_t list = 1;  ///< put the stream on the ready list
  static constexpr std::uint32_t wake = 2;  ///< wake a worker for it
  static constexpr std::uint32_t tick = 4;  ///< see that somebody looks at the list soon
  std::uint32_t bits = 0;
};

/// With the stream's mutex held: takes note of one more operation.
Announcement note_submitted(Stream& stream, bool light);

/// Streams whose wait has ended, for the thread that ended it to go on with or to publish. Holds references.
struct Resumed {
  std::array<Stream*, 8> streams;
  unsigned count = 0;
};

class Scheduler {
 public:
  static Scheduler& get();

  /// Starts the workers, once. Throws a Failure when the system refuses threads.
  void start();

  unsigned threads() const noexcept { return threads_; }
  /// Cores that nobody drains a stream on.
  unsigned free_cores() const noexcept {
    unsigned draining = draining_.load(std::memory_order_seq_cst);
    return draining < threads_ ? threads_ - draining : 0;
  }
  /// As Arena::fork. False, and nothing done, once the process began to exit: oneTBB's own destructors are next.
  bool fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept;
  bool exiting() const noexcept { return exiting_.load(std::memory_order_relaxed); }
  /// Whether a stream with work waits for a thread.
  bool others_wait() const noexcept { return work_listed(); }

  void announce(Stream& stream, Announcement announcement) noexcept;
  /// Makes a worker look at the stream now, if it was kept back and is not known to be tiny.
  void flush(Stream& stream) noexcept;
  /// Blocks until `stream` reaches `mark`, helping where it can.
  void wait(Stream& stream, std::uint64_t mark) noexcept;
  /// Ends the operation that a callback or a graph's run stood for, and lets its stream go on. By the thread that
  /// ended it.
  void callback_done(Stream& stream) noexcept;

 private:
  Scheduler();

  /// What a thread got to drain: up to which mark, and whether it counts as draining. No stream: nothing.
  struct Claim {
    Stream* stream = nullptr;
    std::uint64_t limit = 0;
    bool counted = false;
  };
  struct Refill {
    Operation* surplus = nullptr;
    bool more = false, abandoned = false;
  };

  // scheduler.cpp: draining
  void drain(Stream& stream, std::uint64_t limit, Resumed& resumed) noexcept;
  void complete(Stream& stream, Resumed& resumed) noexcept;
  bool complete_last(Stream& stream, Resumed& resumed) noexcept;
  static void retire(Stream& stream, Operation* operation) noexcept;
  bool park_on_mark(Stream& stream, Operation& wait) noexcept;
  bool refill(Stream& stream) noexcept;
  static Refill refill_locked(Stream& stream) noexcept;
  static bool end_refill(Stream& stream, Refill& refill) noexcept;
  void requeue(Stream& stream) noexcept;
  void notify(Stream& stream, std::uint64_t completed, Resumed& resumed) noexcept;
  void publish(Stream& stream) noexcept;
  void publish_all(Resumed& resumed) noexcept;
  Claim claim_for(Stream& target, std::uint64_t mark) noexcept;

  // workers.cpp: the ready list, sleeping and waking
  void begin_exit() noexcept;
  void enter_and_work() noexcept;
  void work() noexcept;
  void drain_from(Stream* stream) noexcept;
  void push(Stream& stream) noexcept;
  Stream* pop() noexcept;
  void take_inbox() noexcept;
  bool work_listed() const noexcept;
  bool enter_draining() noexcept;
  void leave_draining() noexcept;
  void cancel_idle() noexcept;
  void wake_worker() noexcept;
  void idle() noexcept;
  bool take_wake(std::int64_t nanoseconds) noexcept;

  const unsigned threads_;
  Arena* const arena_;
  std::once_flag started_;
  std::atomic<bool> exiting_{false};
  std::atomic<unsigned> forks_{0};  ///< calls of oneTBB that are under way

  alignas(64) std::atomic<unsigned> draining_{0};
  std::atomic<bool> starved_{false};  ///< a worker found work but no free core
  alignas(64) std::atomic<Stream*> inbox_{nullptr};
  alignas(64) std::atomic<std::uint32_t> idle_{0};  ///< workers that sleep and nobody has chosen to wake
  std::atomic<std::uint32_t> wakes_{0};             ///< wakes given and not yet taken
  std::atomic<bool> ticking_{false};
  alignas(64) std::mutex ready_mutex_;
  Stream* ready_first_ = nullptr;
  Stream* ready_last_ = nullptr;
  std::atomic<bool> ready_any_{false};
};

}  // namespace weir::cpu
