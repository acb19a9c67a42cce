// SPDX-License-Identifier: Apache-2.0
// Draining streams, marks and their waiters. Sleeping and waking is in workers.cpp.
#include "stream/scheduler.hpp"

#include <x86intrin.h>

#include <algorithm>
#include <utility>
#include <weir/sdk/floating_point.hpp>

#include "graph/graph.hpp"
#include "stream/arena.hpp"
#include "stream/callbacks.hpp"
#include "stream/event.hpp"
#include "stream/futex.hpp"
#include "stream/stream.hpp"

namespace weir::cpu {
namespace {

// A stream that holds back this many tiny operations is worth a wake-up.
constexpr std::uint32_t many_operations = 16;
// After this many operations, or after turn_ticks, a worker switches to other streams.
constexpr unsigned turn_operations = 64;
// Work that is known to end within about 10 microseconds, on a host thread that waits for it.
constexpr std::uint64_t uncounted_ticks = 30'000;
// The time that a host thread spins before it sleeps: about 10 microseconds, the cost of a sleep and a
// wake-up.
constexpr std::uint64_t spin_ticks = 30'000;
// Spare operations kept by a stream; more are freed.
constexpr std::uint32_t max_spares = 4096;

// Longer chains of parked streams are left to the workers.
constexpr unsigned long_chain = 1024;

// With the stream's mutex held, by its owner.
void take_queue(Stream& stream) noexcept {
  stream.taken = stream.first;
  stream.first = stream.last = nullptr;
  stream.queued_operations = 0;
}

bool is_one_tiny(const Operation* operation) noexcept {
  return operation && !operation->next && operation->kind == Operation::Kind::blocks &&
         operation->work.cost && operation->work.cost->within(operation->work.blocks, uncounted_ticks);
}

// The values of a sleeping host thread's word.
constexpr std::uint32_t sleeping = 1, signalled = 2;

}  // namespace

Announcement note_submitted(Stream& stream, Weight weight) {
  Announcement announcement;
  if (stream.state == Stream::State::idle) stream.state = Stream::State::queued;
  const bool was_urgent = stream.urgent();
  const bool many = stream.queued_operations > many_operations;
  if (weight != Weight::light || many) {
    if (!stream.busy) {
      stream.busy = true;
      stream.held = Scheduler::get().begin_busy() && weight == Weight::medium && !many &&
                    stream.state == Stream::State::queued && stream.host_habit.expects_wait();
      if (stream.held) stream.held_since = __rdtsc();
    } else if (weight == Weight::heavy || many) {
      stream.held = false;
    }
  }
  if (stream.state != Stream::State::queued) return announcement;
  if (!stream.listed) {
    stream.listed = true;
    stream.add_reference();  // the reference of the ready list
    announcement.bits |= Announcement::list;
  }
  if (!stream.urgent())
    announcement.bits |= Announcement::tick;
  else if (!was_urgent)
    announcement.bits |= Announcement::wake;
  return announcement;
}

void Scheduler::announce(Stream& stream, Announcement announcement) noexcept {
  if (announcement.bits & Announcement::list) push(stream);
  const bool tick = announcement.bits & Announcement::tick;
  if (announcement.bits & Announcement::wake || (tick && !ticking_.load(std::memory_order_seq_cst)))
    wake_worker();
}

void Scheduler::flush(Stream& stream) noexcept {
  bool wake = false;
  {
    std::lock_guard lock(stream.mutex);
    wake = stream.state == Stream::State::queued && stream.first && !stream.held &&
           (stream.first->kind != Operation::Kind::blocks ||
            (stream.first->work.cost && stream.first->work.cost->sixteenths_per_block.load() == 0));
  }
  if (wake) wake_worker();
}

// With the mutex of the stream held. When the stream is queued again, the rest of its work is urgent.
void Scheduler::begin_running(Stream& stream, Claimant claimant) noexcept {
  stream.state = Stream::State::running;
  if (!stream.held) return;
  stream.held = false;
  if (claimant == Claimant::host && __rdtsc() - stream.held_since < light_ticks)
    stream.host_habit.waited();
  else
    stream.host_habit.stayed_away();
}

// Drains until the queue is empty, parked, at `limit`, or (for an endless limit) for one turn. The thread has
// the default floating-point environment. The caller owns the stream and gives up the ownership. The streams
// that were resumed last are returned in `resumed`.
void Scheduler::drain(Stream& stream, std::uint64_t limit, Resumed& resumed) noexcept {
  const bool takes_turns = limit == Stream::no_mark;
  const std::uint64_t began = takes_turns ? __rdtsc() : 0;
  for (unsigned operations = 0;; ++operations) {
    if (!stream.taken && !refill(stream)) return;
    if (stream.completed.load(std::memory_order_relaxed) >= limit) return requeue(stream);
    if (takes_turns && (operations >= turn_operations || __rdtsc() - began > turn_ticks) && work_listed())
      return requeue(stream);
    publish_all(resumed);  // they must not wait for the next operation
    Operation* operation = stream.taken;
    switch (operation->kind) {
      case Operation::Kind::blocks:
        if (!run_blocks(operation->work))
          stream.error.store(WEIR_ERROR_OUT_OF_MEMORY, std::memory_order_relaxed);
        break;
      case Operation::Kind::wait:
        if (!operation->wait.stream->reached(operation->wait.mark) && park_on_mark(stream, *operation))
          return;
        break;
      case Operation::Kind::stamp:
        stamp_event(*operation->stamp.event, operation->stamp.generation);
        break;
      case Operation::Kind::callback: {
        {
          std::lock_guard lock(stream.mutex);
          stream.state = Stream::State::parked;
          stream.parked_on = nullptr;
        }
        Callbacks::get().run(stream, operation->callback.function, operation->callback.user);
        return;
      }
      case Operation::Kind::release:
        break;  // release_contents does it
      case Operation::Kind::graph:
        switch (run_graph(*operation->graph.graph, operation->graph.run, stream, takes_turns)) {
          case GraphProgress::done:
            break;
          case GraphProgress::parked:
            return;
          case GraphProgress::yielded:
            return requeue(stream);
        }
        break;
      case Operation::Kind::help:
        help_graph(*operation->help.graph, operation->help.helper);
        break;
    }
    retire(stream, operation);
    if (stream.taken)
      complete(stream, resumed);
    else if (!complete_last(stream, resumed))
      return;
  }
}

void Scheduler::retire(Stream& stream, Operation* operation) noexcept {
  stream.taken = operation->next;
  release_contents(*operation);
  operation->next = stream.done;
  if (!stream.done) stream.done_end = operation;
  stream.done = operation;
  ++stream.done_operations;
}

// Returns the completed operations to submitting threads, except a surplus for the caller to free. The
// stream's mutex must be held. Before a waiting host continues, the operations that it waited for are
// returned. Otherwise, the number of operations that its next submissions allocate would depend on timing.
Operation* Scheduler::recycle(Stream& stream) noexcept {
  if (!stream.done) return nullptr;
  Operation* const first = std::exchange(stream.done, nullptr);
  const std::uint32_t count = std::exchange(stream.done_operations, 0);
  if (stream.spare_operations + count > max_spares) return first;
  stream.done_end->next = stream.spare;
  stream.spare = first;
  stream.spare_operations += count;
  return nullptr;
}

void Scheduler::free(Operation* surplus) noexcept {
  while (surplus) delete std::exchange(surplus, surplus->next);
}

void Scheduler::complete(Stream& stream, Resumed& resumed) noexcept {
  // Pairs with the store and load of a thread that becomes a waiter: at least one of the two threads sees the
  // other's store.
  std::uint64_t completed = stream.completed.load(std::memory_order_relaxed) + 1;
  if (stream.watched_mark.load(std::memory_order_relaxed) <= completed) {
    Operation* surplus;
    {
      std::lock_guard lock(stream.mutex);
      surplus = recycle(stream);
    }
    free(surplus);
  }
  stream.completed.store(completed, std::memory_order_seq_cst);
  if (stream.watched_mark.load(std::memory_order_seq_cst) <= completed) notify(stream, completed, resumed);
}

// Completes the last taken operation and refills, under one lock; false when the stream became idle.
bool Scheduler::complete_last(Stream& stream, Resumed& resumed) noexcept {
  Refill refill;
  bool watched;
  {
    std::lock_guard lock(stream.mutex);
    // Waiters register under the mutex too, and read the count afterwards.
    const std::uint64_t completed = stream.completed.load(std::memory_order_relaxed) + 1;
    watched = stream.watched_mark.load(std::memory_order_relaxed) <= completed;
    if (!watched) {
      stream.completed.store(completed, std::memory_order_release);
      refill = refill_locked(stream);
    }
  }
  if (!watched) return end_refill(stream, refill);
  complete(stream, resumed);  // while the stream cannot become idle, and therefore cannot be freed
  return this->refill(stream);
}

bool Scheduler::refill(Stream& stream) noexcept {
  Refill refill;
  {
    std::lock_guard lock(stream.mutex);
    refill = refill_locked(stream);
  }
  return end_refill(stream, refill);
}

// Takes newly submitted operations and recycles the completed ones; the stream becomes idle when there are
// none.
Scheduler::Refill Scheduler::refill_locked(Stream& stream) noexcept {
  Refill refill;
  refill.surplus = recycle(stream);
  take_queue(stream);
  refill.more = stream.taken != nullptr;
  if (!refill.more) {
    stream.state = Stream::State::idle;
    if (std::exchange(stream.busy, false)) Scheduler::get().end_busy();
    refill.abandoned = stream.abandoned;
  }
  return refill;
}

// Does not access an idle stream that still has its handle: another thread may already have destroyed it.
bool Scheduler::end_refill(Stream& stream, Refill& refill) noexcept {
  free(refill.surplus);
  if (refill.abandoned) {
    // A device that is opened again while it closes may have several closing threads.
    std::atomic<std::uint32_t>& unfinished = stream.device->unfinished;
    stream.drop_reference();
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(unfinished);
  }
  return refill.more;
}

void Scheduler::requeue(Stream& stream) noexcept {
  stream.add_reference();  // others may drain it completely before it is published
  Operation* surplus;
  {
    std::lock_guard lock(stream.mutex);
    surplus = recycle(stream);
    stream.state = Stream::State::queued;
  }
  free(surplus);
  publish(stream);
  stream.drop_reference();
}

// True when the stream now waits; its owner must not access it any more.
bool Scheduler::park_on_mark(Stream& stream, Operation& wait) noexcept {
  Stream& other = *wait.wait.stream;
  const std::uint64_t mark = wait.wait.mark;
  other.add_reference();  // the operation's reference ends when the stream is resumed, possibly at once
  {
    std::lock_guard lock(stream.mutex);
    stream.state = Stream::State::parked;
    stream.parked_on = &other;
    stream.parked_mark = mark;
  }
  bool waits;
  {
    std::lock_guard lock(other.mutex);
    if (mark < other.watched_mark.load(std::memory_order_relaxed))
      other.watched_mark.store(mark, std::memory_order_seq_cst);
    waits = !other.reached(mark);
    if (waits) {
      stream.as_waiter = {other.waiters, mark, &stream, nullptr};
      other.waiters = &stream.as_waiter;
    }
  }
  if (!waits) {
    std::lock_guard lock(stream.mutex);
    stream.state = Stream::State::running;
  }
  other.drop_reference();
  return waits;
}

void Scheduler::notify(Stream& stream, std::uint64_t completed, Resumed& resumed) noexcept {
  Waiter* ended = nullptr;
  {
    std::lock_guard lock(stream.mutex);
    std::uint64_t smallest = Stream::no_mark;
    for (Waiter** link = &stream.waiters; *link;) {
      Waiter* waiter = *link;
      if (waiter->mark <= completed) {
        *link = waiter->next;
        waiter->next = ended;
        ended = waiter;
      } else {
        smallest = std::min(smallest, waiter->mark);
        link = &waiter->next;
      }
    }
    stream.watched_mark.store(smallest, std::memory_order_seq_cst);
  }
  while (ended) {
    Waiter* waiter = std::exchange(ended, ended->next);
    if (Stream* other = waiter->stream) {
      other->add_reference();
      {
        std::lock_guard lock(other->mutex);
        other->state = Stream::State::queued;
      }
      if (resumed.count == resumed.streams.size()) publish_all(resumed);
      resumed.streams[resumed.count++] = other;
    } else if (auto& signal = *waiter->signal;
               signal.exchange(signalled, std::memory_order_acq_rel) == sleeping) {
      futex_wake_one(signal);  // only the address is used: the sleeping thread may have ended
    }
  }
}

void Scheduler::publish(Stream& stream) noexcept {
  Announcement announcement;
  {
    std::lock_guard lock(stream.mutex);
    if (stream.state != Stream::State::queued) return;
    if (!stream.listed) {
      stream.listed = true;
      stream.add_reference();
      announcement.bits |= Announcement::list;
    }
    announcement.bits |= stream.urgent() ? Announcement::wake : Announcement::tick;
  }
  announce(stream, announcement);
}

void Scheduler::publish_resumed(Resumed& resumed) noexcept {
  for (unsigned i = 0; i < resumed.count; ++i) {
    publish(*resumed.streams[i]);
    resumed.streams[i]->drop_reference();
  }
  resumed.count = 0;
}

void Scheduler::callback_done(Stream& stream) noexcept {
  stream.add_reference();
  {
    std::lock_guard lock(stream.mutex);
    stream.state = Stream::State::running;  // by this thread, temporarily
  }
  Resumed resumed;
  retire(stream, stream.taken);
  bool more = true;
  if (stream.taken)
    complete(stream, resumed);
  else
    more = complete_last(stream, resumed);
  if (more) requeue(stream);
  publish_all(resumed);
  stream.drop_reference();
}

// Follows the streams that `target` waits for to one that no thread drains. Claims it, with the mark up to
// which it is needed. Null when there is none, or no free core. With a reference, unless it is `target`.
Scheduler::Claim Scheduler::claim_for(Stream& target, std::uint64_t mark) noexcept {
  Stream* stream = &target;
  for (unsigned length = 0; length < long_chain; ++length) {
    Stream* next = nullptr;
    {
      std::lock_guard lock(stream->mutex);
      if (stream->state == Stream::State::queued) {
        // A single tiny operation is not counted: it ends too soon to matter, and the mark cannot be later.
        const bool counted = stream->taken || !is_one_tiny(stream->first);
        if (!counted || enter_draining()) {
          begin_running(*stream, Claimant::host);
          if (!stream->taken) take_queue(*stream);  // while the mutex is held anyway
          return {stream, mark, counted};
        }
      } else if (stream->state == Stream::State::parked && stream->parked_on) {
        next = stream->parked_on;
        mark = stream->parked_mark;
        // Alive: the parked operation holds it, and cannot end while this mutex is held.
        if (next != &target) next->add_reference();
      }
    }
    if (stream != &target) stream->drop_reference();
    if (!next) return {};
    stream = next;
  }
  if (stream != &target) stream->drop_reference();
  return {};
}

void Scheduler::wait(Stream& target, std::uint64_t mark) noexcept {
  if (target.reached(mark)) return;
  // Read before the stream is claimed, because the lock's latency hides that of reading the control words.
  const sdk::DefaultFloatingPoint floating_point(sdk::DefaultFloatingPoint::Inside::keeps);
  Resumed resumed;
  std::uint64_t spin_began = 0;
  do {
    if (const Claim claim = claim_for(target, mark); claim.stream) {
      publish_all(resumed);
      drain(*claim.stream, claim.limit, resumed);
      if (claim.counted) leave_draining();
      if (claim.stream != &target) claim.stream->drop_reference();
      spin_began = 0;
      continue;
    }
    publish_all(resumed);
    const std::uint64_t now = __rdtsc();
    if (spin_began == 0) spin_began = now;
    if (now - spin_began < spin_ticks) {
      for (unsigned i = 0; i < 32 && !target.reached(mark); ++i) _mm_pause();
      continue;
    }
    std::atomic<std::uint32_t> signal{0};
    Waiter waiter{nullptr, mark, nullptr, &signal};
    {
      std::lock_guard lock(target.mutex);
      if (mark < target.watched_mark.load(std::memory_order_relaxed))
        target.watched_mark.store(mark, std::memory_order_seq_cst);
      if (target.reached(mark)) break;
      waiter.next = target.waiters;
      target.waiters = &waiter;
    }
    std::uint32_t expected = 0;
    signal.compare_exchange_strong(expected, sleeping, std::memory_order_acq_rel);
    while (signal.load(std::memory_order_acquire) != signalled) futex_wait(signal, sleeping, -1);
  } while (!target.reached(mark));
  publish_all(resumed);
}

}  // namespace weir::cpu
