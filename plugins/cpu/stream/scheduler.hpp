// SPDX-License-Identifier: Apache-2.0
// The scheduler of the CPU driver.
//
// A stream with work is claimed by one thread at a time, which drains it in order. Only two kinds of threads
// drain streams: workers (as many as there are cores, inside the arena) and host threads that wait for a
// mark. At most as many threads drain as there are cores, including waiting host threads, so that equal work
// on several streams is not slowed by time slicing. A grid of several blocks is shared with oneTBB's threads
// while cores are free.
//
// Starting. Heavy work (many blocks of unknown cost, or known to take long) puts its stream on the ready list
// and wakes a worker. Light work only puts it on the list. A waiting host thread claims the stream itself,
// which needs no hand-over between threads, or a worker without work takes it. Otherwise one idle worker, the
// ticker, polls the list every 50 microseconds. While it finds nothing, because hosts run their work
// themselves, the interval grows up to 400 microseconds. The ticker falls asleep after 2 idle milliseconds;
// the next light work wakes it.
//
// Medium work in between is held back like light work if the ticker polls anyway, no other stream has medium
// or heavy work, and the stream's host thread usually waits at once (HostHabit). A worker would take a core
// from the work: the system often wakes it on the core of the submitting thread, or on that of a helper.
//
// Waiting. A stream that waits for a mark of another parks as a waiter of that stream; no thread is blocked.
// A waiting host thread follows the chain of parked streams from the stream that it waits for. It drains the
// stream at the end of the chain, up to the required mark. If another thread is draining that stream, it
// spins for some microseconds, then sleeps.
//
// Locks. A stream's mutex guards its queue for a few instructions. The ready list is pushed without a lock
// and popped by workers under a lock that submitting threads never take. No lock is held while work runs.
//
// Callbacks run on separate threads (callbacks.hpp); the stream is parked meanwhile. It is also parked while
// nodes of its graph run on other threads and none is ready to begin (graph_run.cpp).
//
// All objects here are never freed, because workers live until the process ends.
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
inline constexpr std::uint64_t light_ticks = 30'000;  ///< shorter work is not worth waking a worker
/// Longer work is worth it even if a host thread waits. About the ticker's longest interval.
inline constexpr std::uint64_t medium_ticks = 1'500'000;
inline constexpr std::uint64_t solo_ticks = 6'000;  ///< shorter work ends before another core receives it
/// What is lost when two cores of a Xeon at 2.6 GHz share the blocks of a launch: the second core begins
/// later, and loads what the first one wrote before.
inline constexpr std::uint64_t sharing_ticks = 10'000;
/// After this time a worker switches to other streams.
inline constexpr std::uint64_t turn_ticks = 1'500'000;

/// How long work takes compared with waking a worker; see "Starting" above.
enum class Weight : std::uint8_t { light, medium, heavy };

/// The actions of a submitting thread after it has released the stream's mutex. Bits, because a call returns
/// three bools through memory, which costs more than a lock.
struct Announcement {
  static constexpr std::uint32_t list = 1;  ///< put the stream on the ready list
  static constexpr std::uint32_t wake = 2;  ///< wake a worker for it
  static constexpr std::uint32_t tick = 4;  ///< ensure that a worker polls the list soon
  std::uint32_t bits = 0;
};

/// Accounts for one more operation. The stream's mutex must be held.
Announcement note_submitted(Stream& stream, Weight weight);

/// Streams whose wait has ended; the thread that ended it continues with them or publishes them. Holds
/// references.
struct Resumed {
  std::array<Stream*, 8> streams;
  unsigned count = 0;
};

class Scheduler {
 public:
  static Scheduler& get() {
    static Scheduler* const scheduler = new Scheduler;
    return *scheduler;
  }

  /// Registers what the end of the process does with oneTBB, once. To be called when the driver is loaded:
  /// the handler must run before the destructors of oneTBB, which was loaded before.
  static void watch_exit();
  /// Starts the workers, once; without oneTBB if the process has begun to exit. Throws a Failure when the
  /// system refuses threads.
  void start();

  unsigned threads() const noexcept { return threads_; }
  /// Blocks that take less time on one core end later if all cores share them.
  std::uint64_t least_shared_ticks() const noexcept { return least_shared_ticks_; }
  /// The number of cores on which no thread drains a stream.
  unsigned free_cores() const noexcept {
    unsigned draining = draining_.load(std::memory_order_seq_cst);
    return draining < threads_ ? threads_ - draining : 0;
  }
  /// As Arena::fork. After the process began to exit it returns false and does nothing, because oneTBB's
  /// destructors run next.
  bool fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept;
  static bool exiting() noexcept { return exiting_.load(std::memory_order_relaxed); }
  /// Whether a stream with work waits for a thread.
  bool others_wait() const noexcept { return work_listed(); }

  void announce(Stream& stream, Announcement announcement) noexcept;
  /// Called when a stream gets its first work that is worth a wake-up. Returns whether it is the only one,
  /// and the ticker looks soon.
  bool begin_busy() noexcept {
    return busy_.fetch_add(1, std::memory_order_relaxed) == 0 && ticking_.load(std::memory_order_relaxed);
  }
  void end_busy() noexcept { busy_.fetch_sub(1, std::memory_order_relaxed); }
  /// Makes a worker drain the stream now, if its work may take long. Medium work that is held back stays so:
  /// the host flushes before it waits for an event, too.
  void flush(Stream& stream) noexcept;
  /// Blocks until `stream` reaches `mark`, helping where it can.
  void wait(Stream& stream, std::uint64_t mark) noexcept;
  /// Ends the operation of a callback or of a graph's run, and resumes its stream. Called by the thread that
  /// ended it.
  void callback_done(Stream& stream) noexcept;

 private:
  Scheduler();

  /// The stream that a thread has claimed, the mark to drain up to, and whether the thread counts as
  /// draining. Without a stream: no claim.
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
  static Operation* recycle(Stream& stream) noexcept;
  static void free(Operation* surplus) noexcept;
  bool park_on_mark(Stream& stream, Operation& wait) noexcept;
  bool refill(Stream& stream) noexcept;
  static Refill refill_locked(Stream& stream) noexcept;
  static bool end_refill(Stream& stream, Refill& refill) noexcept;
  void requeue(Stream& stream) noexcept;
  void notify(Stream& stream, std::uint64_t completed, Resumed& resumed) noexcept;
  void publish(Stream& stream) noexcept;
  void publish_all(Resumed& resumed) noexcept {
    if (resumed.count) publish_resumed(resumed);
  }
  void publish_resumed(Resumed& resumed) noexcept;
  Claim claim_for(Stream& target, std::uint64_t mark) noexcept;
  enum class Claimant : std::uint8_t { host, worker };
  static void begin_running(Stream& stream, Claimant claimant) noexcept;

  // workers.cpp: the ready list, sleeping and waking
  static void begin_exit() noexcept;
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
  const std::uint64_t least_shared_ticks_;
  Arena* const arena_;
  std::once_flag started_;
  inline static std::atomic<bool> exiting_{false};
  inline static std::atomic<unsigned> forks_{0};  ///< current calls of oneTBB

  alignas(64) std::atomic<unsigned> draining_{0};
  std::atomic<bool> starved_{false};    ///< a worker found work but no free core
  std::atomic<std::uint32_t> busy_{0};  ///< streams with medium or heavy work
  alignas(64) std::atomic<Stream*> inbox_{nullptr};
  alignas(64) std::atomic<std::uint32_t> idle_{0};  ///< sleeping workers not chosen for a wake-up
  std::atomic<std::uint32_t> wakes_{0};             ///< wake-ups given and not yet taken
  std::atomic<bool> ticking_{false};
  std::atomic<std::int64_t> tick_{50'000};  ///< nanoseconds until the ticker's next look
  alignas(64) std::mutex ready_mutex_;
  Stream* ready_first_ = nullptr;
  Stream* ready_last_ = nullptr;
  std::atomic<bool> ready_any_{false};
};

}  // namespace weir::cpu
