// SPDX-License-Identifier: Apache-2.0
// The only file that includes oneTBB.
#include "stream/arena.hpp"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <weir/sdk/floating_point.hpp>
#include <weir/sdk/thread.hpp>

namespace weir::cpu {

/// The places in the arena.
struct Places {
  /// Of each, pthread_self() of the thread that can spawn tasks there without an allocation; 0 before there
  /// is one.
  std::unique_ptr<std::atomic<std::uintptr_t>[]> threads;
  std::size_t most_tasks = 0;  ///< that a thread makes in a fork
};

namespace {
using Limit = tbb::global_control;
constexpr std::uintptr_t unusable = 1;  // as a thread
}  // namespace

struct Arena::Impl {
  /// Allows more threads than cores, where WEIR_CPU_THREADS asks for them. oneTBB would ignore the others,
  /// and write a warning to the program's standard error.
  std::optional<Limit> limit;
  tbb::task_arena arena;
  unsigned helpers = 0;
  Places places;
  /// Under which oneTBB and its allocator have data of a thread. The first thread that enters finds them.
  std::vector<pthread_key_t> keys;
  std::atomic_flag entered;
  std::atomic<bool> searched{false};  ///< the first thread has entered, or could not
};

namespace {

/// Tasks of `group`, which `owner` holds. If there is no memory for one, its owner is never destroyed: the
/// group would wait for that task.
template <class Owner, class Body>
std::vector<tbb::task_handle> make_tasks(std::unique_ptr<Owner>& owner, tbb::task_group& group,
                                         std::size_t count, const Body& body) {
  std::vector<tbb::task_handle> tasks;
  tasks.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) tasks.push_back(group.defer(body));
  } catch (...) {
    tasks.clear();
    (void)owner.release();
    throw;
  }
  return tasks;
}

/// oneTBB's threads, each of which has to run one of the tasks.
struct Start {
  tbb::task_group group;
  std::atomic<unsigned> arrived{0};
  std::atomic<bool> over{false};

  void end() noexcept {
    over = true;
    over.notify_all();
  }
};
constexpr std::chrono::milliseconds start_patience{100};

/// Makes oneTBB start `count` threads, in its arena. It starts them when tasks are spawned. If it finds no
/// memory for that, each later call of the arena waits for ever (market::adjust_demand in 2021.8), so tasks
/// are spawned that nobody has to wait for. Throws if there is no memory; returns false if the arena can no
/// longer be used.
bool start_threads(unsigned count) {
  auto start = std::make_unique<Start>();
  std::vector<tbb::task_handle> tasks = make_tasks(start, start->group, count, [at = start.get()] {
    at->arrived.fetch_add(1, std::memory_order_relaxed);
    at->over.wait(false);
  });
  try {
    for (tbb::task_handle& task : tasks) start->group.run(std::move(task));
  } catch (...) {
    start.release()->end();
    return false;
  }
  const auto limit = std::chrono::steady_clock::now() + start_patience;
  while (start->arrived.load(std::memory_order_relaxed) < count && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  start->end();
  start->group.wait();
  return true;
}

/// The keys under which this thread has data. In GNU's C library keys are small numbers, and the data of a
/// key that does not exist is null.
std::vector<pthread_key_t> keys_of_this_thread() {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key)
    if (pthread_getspecific(key)) keys.push_back(key);
  return keys;
}

/// Prepares this thread to make the tasks of a fork, and to spawn them from its place in the arena.
///  - oneTBB allocates the memory for a place's tasks when a thread there spawns the first one. If that
///    fails, a parallel_for waits for ever, since it has counted the task already. The next thread that
///    spawns a task there writes to address 0. So a task is spawned that nobody has to wait for.
///  - A thread that finds no memory for a task of a parallel_for reports it by an exception. oneTBB ends the
///    process if it then finds no memory to keep the exception. So the tasks are made, and returned to the
///    thread's pool.
/// Returns whether it can.
bool prepare_to_spawn(const Places& places) noexcept try {
  std::atomic<std::uintptr_t>& place = places.threads[tbb::this_task_arena::current_thread_index()];
  const auto self = static_cast<std::uintptr_t>(pthread_self());
  const std::uintptr_t prepared = place.load(std::memory_order_acquire);
  if (prepared == self) return true;
  if (prepared == unusable) return false;
  auto group = std::make_unique<tbb::task_group>();
  std::vector<tbb::task_handle> made = make_tasks(group, *group, places.most_tasks, [] {});
  try {
    group->run(std::move(made.back()));
  } catch (...) {
    place.store(unusable, std::memory_order_release);
    made.clear();
    (void)group.release();
    return false;
  }
  made.clear();
  group->wait();
  place.store(self, std::memory_order_release);
  return true;
} catch (...) {
  return false;
}

/// Participants of a fork. A thread that cannot spawn tasks runs all those that it has.
class Participants {
 public:
  Participants(unsigned count, const Places& places) : end_(count), places_(&places) {}
  Participants(Participants& all, tbb::split)
      : begin_(all.begin_ + (all.end_ - all.begin_) / 2), end_(all.end_), places_(all.places_) {
    all.end_ = begin_;
  }
  bool empty() const { return begin_ == end_; }
  bool is_divisible() const { return end_ - begin_ > 1 && prepare_to_spawn(*places_); }
  unsigned begin() const { return begin_; }
  unsigned end() const { return end_; }

 private:
  unsigned begin_ = 0, end_;
  const Places* places_;
};

/// The number of threads of this process; 0 if it is unknown.
std::size_t threads_of_process() noexcept {
  struct stat folder;
  return stat("/proc/self/task", &folder) == 0 && folder.st_nlink > 2 ? folder.st_nlink - 2 : 0;
}

/// Threads that wait until the destructor ends them.
class WaitingThreads {
 public:
  /// Throws if one cannot be started.
  explicit WaitingThreads(unsigned count) {
    threads_.reserve(count);
    try {
      for (unsigned i = 0; i < count; ++i)
        threads_.push_back(sdk::start_thread("weir-cpu", [this] { end_.wait(false); }));
    } catch (...) {
      end();
      throw;
    }
  }
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;
  ~WaitingThreads() { end(); }

 private:
  void end() noexcept {
    end_ = true;
    end_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    // A thread that was joined counts against the limit for a moment.
    for (int i = 0; i < 1000 && threads_of_process() > before_; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  const std::size_t before_ = threads_of_process();
  std::atomic<bool> end_{false};
  std::vector<std::thread> threads_;
};

}  // namespace

// oneTBB 2021.8 does not survive a lack of memory in the initialization of an arena: it uses what it did not
// get. So there is room first.
void Arena::make_room() const {
  constexpr std::size_t at_all = 256 * 1024, of_place = 16 * 1024;
  (void)std::make_unique_for_overwrite<std::byte[]>(at_all +
                                                    of_place * (std::size_t{helpers_} + entrants_ + 1));
}

void Arena::initialize() {
  if (tried_) return;
  make_room();
  tried_ = true;
  const sdk::DefaultFloatingPoint floating_point;  // oneTBB gives its threads that of this one
  auto impl = std::make_unique<Impl>();
  const std::size_t threads = helpers_ + 1;
  if (Limit::active_value(Limit::max_allowed_parallelism) < threads)
    impl->limit.emplace(Limit::max_allowed_parallelism, threads);
  // A limit of the program, which is the lower one, stays.
  const auto allowed = static_cast<unsigned>(Limit::active_value(Limit::max_allowed_parallelism));
  const unsigned helpers = std::min(helpers_, allowed - 1);
  impl->arena.initialize(static_cast<int>(helpers + entrants_), entrants_);
  impl->helpers = helpers;
  impl->places.threads = std::make_unique<std::atomic<std::uintptr_t>[]>(helpers + entrants_);
  impl->places.most_tasks = 2 * (std::size_t{helpers} + 1);  // each split makes two
  impl_ = impl.release();
}

void Arena::wait_for_entrant() const noexcept {
  const auto limit = std::chrono::steady_clock::now() + start_patience;
  while (impl_ && !impl_->searched && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void Arena::forget_thread() const noexcept {
  if (!impl_ || !impl_->searched) return;
  for (const pthread_key_t key : impl_->keys) pthread_setspecific(key, nullptr);
}

bool Arena::enter(void (*body)(void*), void* context) noexcept {
  if (!impl_) return false;
  const bool first = !impl_->entered.test_and_set();
  try {
    const std::vector<pthread_key_t> before = first ? keys_of_this_thread() : std::vector<pthread_key_t>();
    impl_->arena.execute([&] {
      if (first) {
        std::ranges::set_difference(keys_of_this_thread(), before, std::back_inserter(impl_->keys));
        impl_->searched = true;
      }
      body(context);
    });
    return true;
  } catch (...) {
    if (first) impl_->searched = true;
    return false;
  }
}

// If a thread cannot be started, as where the number of processes is limited, oneTBB ends this process or
// waits for ever. So other threads are started first, as many as it may need; they end at once.
bool Arena::start_helpers() noexcept try {
  if (started_.load(std::memory_order_acquire)) return true;
  const std::unique_lock lock(starting_, std::try_to_lock);
  if (!lock) return false;  // another thread tries
  if (!started_) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_try_) return false;
    next_try_ = now + std::chrono::seconds(1);
    (void)WaitingThreads(impl_->helpers);
    if (!impl_->arena.execute([helpers = impl_->helpers] { return start_threads(helpers); })) {
      next_try_ = std::chrono::steady_clock::time_point::max();
      return false;
    }
    started_.store(true, std::memory_order_release);
  }
  return true;
} catch (...) {
  return false;
}

bool Arena::fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept try {
  if (!impl_ || !start_helpers()) return false;
  impl_->arena.execute([=, &places = impl_->places] {
    tbb::this_task_arena::isolate([=, &places] {
      // One task per participant; the left half of every split stays on this thread, including participant 0.
      tbb::parallel_for(
          Participants(participants, places),
          [=](const Participants& range) {
            for (unsigned i = range.begin(); i != range.end(); ++i) body(context, i);
          },
          tbb::simple_partitioner{});
    });
  });
  return true;
} catch (...) {
  return false;
}

}  // namespace weir::cpu
