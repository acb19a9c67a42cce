// SPDX-License-Identifier: Apache-2.0
// The scheduler's threads: claiming ready streams, sleeping and waking.
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>
#include <weir/sdk/thread.hpp>

#include "machine.hpp"
#include "stream/arena.hpp"
#include "stream/futex.hpp"
#include "stream/stream.hpp"

namespace weir::cpu {
namespace {

// The time between two looks of the ticker at the ready list. It doubles at each look that finds nothing to
// do, because hosts that wait for tiny work run it themselves.
constexpr std::int64_t shortest_tick = 50'000, longest_tick = 400'000;  // nanoseconds
constexpr std::int64_t idle_before_sleep = 2'000'000;
// Host threads that may share blocks concurrently without queueing for a place in the arena.
constexpr unsigned host_places = 16;
// The time that the end of the process waits for parallel kernels to release oneTBB's threads.
constexpr unsigned exit_patience_milliseconds = 200;

/// Asks the system to run this thread soon after it is woken, even on a busy core. Otherwise a polling thread
/// keeps the core for milliseconds. Linux supports this from 6.12 on; older versions ignore it.
void ask_for_short_latency() noexcept {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // otherwise ticks are 50 microseconds late
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{sizeof attributes, SCHED_OTHER, 0, getpriority(PRIO_PROCESS, 0), 0, 100'000, 0, 0};
  if (sched_getscheduler(0) == SCHED_OTHER) syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/// Counts a call of oneTBB while it lives.
class CountedCall {
 public:
  explicit CountedCall(std::atomic<unsigned>& calls) noexcept : calls_(calls) {
    calls_.fetch_add(1, std::memory_order_seq_cst);
  }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  ~CountedCall() { calls_.fetch_sub(1, std::memory_order_seq_cst); }

 private:
  std::atomic<unsigned>& calls_;
};

}  // namespace

Scheduler::Scheduler()
    : threads_(Machine::get().threads),
      least_shared_ticks_(sharing_ticks * threads_ / std::max(threads_ - 1, 1u)),
      arena_(new Arena(threads_ - 1, threads_ + host_places)) {}

void Scheduler::watch_exit() {
  [[maybe_unused]] static const int registered = std::atexit(begin_exit);
}

void Scheduler::start() {
  std::call_once(started_, [this] {
    {
      const CountedCall counted(forks_);
      if (!exiting_.load(std::memory_order_seq_cst))
        arena_->initialize();  // a worker could not report that memory ran out
    }
    sdk::notice_forks();
    if (const int failed = pthread_atfork([] { Scheduler::get().arena_->wait_for_entrant(); }, nullptr,
                                          [] { Scheduler::get().arena_->forget_thread(); }))
      sdk::fail_system(failed, "cannot register a fork handler");
    for (unsigned i = 0; i < threads_; ++i) {
      forks_.fetch_add(1, std::memory_order_seq_cst);  // entering the arena is also a call of oneTBB
      try {
        sdk::start_thread("weir-cpu", [this] { enter_and_work(); }).detach();
      } catch (...) {
        forks_.fetch_sub(1, std::memory_order_seq_cst);
        throw;
      }
    }
  });
}

void Scheduler::enter_and_work() noexcept {
  ask_for_short_latency();
  // Outside the arena, which the thread cannot enter when memory runs out, a worker drains streams as well.
  if (!exiting_.load(std::memory_order_seq_cst)) {
    arena_->enter(
        [](void* opaque) {
          auto* scheduler = static_cast<Scheduler*>(opaque);
          scheduler->forks_.fetch_sub(1, std::memory_order_seq_cst);
          scheduler->work();
        },
        this);
  }
  forks_.fetch_sub(1, std::memory_order_seq_cst);
  work();
}

void Scheduler::begin_exit() noexcept {
  if (sdk::was_forked()) return;  // the counted threads belong to the parent
  exiting_.store(true, std::memory_order_seq_cst);
  for (unsigned i = 0; i < exit_patience_milliseconds && forks_.load(std::memory_order_seq_cst); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool Scheduler::fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept {
  const CountedCall counted(forks_);
  return !exiting_.load(std::memory_order_seq_cst) && arena_->fork(participants, body, context);
}

void Scheduler::work() noexcept {
  for (;;) {
    Stream* const stream = work_listed() ? pop() : nullptr;
    if (!stream) {
      idle();
      continue;
    }
    tick_.store(std::max(tick_.load(std::memory_order_relaxed) / 4, shortest_tick),
                std::memory_order_relaxed);
    drain_from(stream);
  }
}

// Drains `stream`, then the streams that it resumed: one on this thread, the others on idle workers.
void Scheduler::drain_from(Stream* stream) noexcept {
  Resumed resumed;
  while (stream) {
    drain(*stream, Stream::no_mark, resumed);
    stream->drop_reference();
    stream = nullptr;
    while (resumed.count && !stream) {
      Stream* next = resumed.streams[--resumed.count];
      std::unique_lock lock(next->mutex);
      if (next->state == Stream::State::queued) {
        begin_running(*next, Claimant::worker);
        stream = next;
      } else {
        lock.unlock();
        next->drop_reference();
      }
    }
    publish_all(resumed);
  }
  leave_draining();
}

void Scheduler::push(Stream& stream) noexcept {
  Stream* top = inbox_.load(std::memory_order_relaxed);
  do {
    stream.next_in_list = top;
  } while (!inbox_.compare_exchange_weak(top, &stream, std::memory_order_seq_cst, std::memory_order_relaxed));
}

bool Scheduler::work_listed() const noexcept {
  return inbox_.load(std::memory_order_seq_cst) || ready_any_.load(std::memory_order_seq_cst);
}

// Claims the stream that has been ready for longest, and counts this thread as draining; null when none is
// ready or no core is free. Streams that other threads have drained, or drain, leave the list before: a
// worker that is counted for them would take a core from the blocks of a launch. Passes the list's reference
// to the caller.
Stream* Scheduler::pop() noexcept {
  for (;;) {
    Stream* stream;
    bool claimed, more;
    {
      std::lock_guard lock(ready_mutex_);
      take_inbox();
      stream = ready_first_;
      if (!stream) return nullptr;
      std::lock_guard stream_lock(stream->mutex);
      claimed = stream->state == Stream::State::queued;
      if (claimed && !enter_draining()) {
        ready_any_.store(true, std::memory_order_seq_cst);
        starved_.store(true, std::memory_order_seq_cst);  // before idle() looks for a free core again
        return nullptr;
      }
      ready_first_ = stream->next_in_list;
      if (!ready_first_) ready_last_ = nullptr;
      more = ready_first_ != nullptr;
      ready_any_.store(more, std::memory_order_seq_cst);
      stream->listed = false;
      if (claimed) begin_running(*stream, Claimant::worker);
    }
    if (claimed) {
      if (more) wake_worker();
      return stream;
    }
    stream->drop_reference();
  }
}

// Moves the pushed streams, newest on top, to the end of the ready list, newest last. The ready mutex must be
// held.
void Scheduler::take_inbox() noexcept {
  Stream* batch = nullptr;
  for (Stream* stream = inbox_.exchange(nullptr, std::memory_order_seq_cst); stream;) {
    Stream* below = stream->next_in_list;
    stream->next_in_list = batch;
    batch = stream;
    stream = below;
  }
  if (!batch) return;
  (ready_last_ ? ready_last_->next_in_list : ready_first_) = batch;
  while (batch->next_in_list) batch = batch->next_in_list;
  ready_last_ = batch;
}

bool Scheduler::enter_draining() noexcept {
  unsigned draining = draining_.load(std::memory_order_seq_cst);
  while (draining < threads_)
    if (draining_.compare_exchange_weak(draining, draining + 1, std::memory_order_seq_cst)) return true;
  return false;
}

void Scheduler::leave_draining() noexcept {
  draining_.fetch_sub(1, std::memory_order_seq_cst);
  if (starved_.load(std::memory_order_seq_cst)) {
    starved_.store(false, std::memory_order_seq_cst);
    wake_worker();
  }
}

// Chooses a sleeping worker and gives it a wake-up. Without a free core, the next thread that frees one does
// it.
void Scheduler::wake_worker() noexcept {
  if (!free_cores()) {
    starved_.store(true, std::memory_order_seq_cst);
    if (!free_cores()) return;
  }
  std::uint32_t idle = idle_.load(std::memory_order_seq_cst);
  while (idle > 0)
    if (idle_.compare_exchange_weak(idle, idle - 1, std::memory_order_seq_cst)) {
      wakes_.fetch_add(1, std::memory_order_seq_cst);
      futex_wake_one(wakes_);
      return;
    }
}

// Takes a wake-up; sleeps for at most this time (negative: without limit) until there is one.
bool Scheduler::take_wake(std::int64_t nanoseconds) noexcept {
  for (bool slept = false;; slept = true) {
    std::uint32_t wakes = wakes_.load(std::memory_order_seq_cst);
    while (wakes > 0)
      if (wakes_.compare_exchange_weak(wakes, wakes - 1, std::memory_order_seq_cst)) return true;
    if (slept && nanoseconds >= 0) return false;
    futex_wait(wakes_, 0, nanoseconds);
  }
}

// Ends the idle state of a worker that counted itself idle; if it was chosen meanwhile, it takes its own
// wake-up.
void Scheduler::cancel_idle() noexcept {
  std::uint32_t idle = idle_.load(std::memory_order_seq_cst);
  while (idle > 0)
    if (idle_.compare_exchange_weak(idle, idle - 1, std::memory_order_seq_cst)) return;
  take_wake(-1);
}

// Sleeps until there may be work. The first worker to do so is the ticker.
void Scheduler::idle() noexcept {
  idle_.fetch_add(1, std::memory_order_seq_cst);
  if (work_listed() && free_cores()) return cancel_idle();
  if (!ticking_.exchange(true, std::memory_order_seq_cst)) {
    for (std::int64_t idle = 0; idle < idle_before_sleep;) {
      const std::int64_t tick = tick_.load(std::memory_order_relaxed);
      const bool woken = take_wake(tick);
      idle += tick;
      tick_.store(std::min(2 * tick, longest_tick), std::memory_order_relaxed);
      if (!woken && !work_listed()) continue;
      ticking_.store(false, std::memory_order_seq_cst);
      if (!woken) cancel_idle();
      return;
    }
    ticking_.store(false, std::memory_order_seq_cst);
  }
  if (work_listed()) {
    // The listing thread relied on the ticker, which has just stopped. Without a free core, the next thread
    // that frees one wakes this worker.
    if (!free_cores()) starved_.store(true, std::memory_order_seq_cst);
    if (free_cores()) return cancel_idle();
  }
  take_wake(-1);
}

}  // namespace weir::cpu
