// SPDX-License-Identifier: Apache-2.0
// The only file that includes oneTBB.
#include "stream/arena.hpp"

#include <sys/stat.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <weir/sdk/floating_point.hpp>
#include <weir/sdk/thread.hpp>

namespace weir::cpu {

namespace {
using Limit = tbb::global_control;
}  // namespace

struct Arena::Impl {
  /// Allows more threads than cores, where WEIR_CPU_THREADS asks for them. oneTBB would ignore the others,
  /// and write a warning to the program's standard error.
  std::optional<Limit> limit;
  tbb::task_arena arena;
  unsigned helpers = 0;
  /// Of each place in the arena: whether a thread there can spawn tasks without an allocation for the place.
  std::unique_ptr<std::atomic<bool>[]> can_spawn;
};

namespace {

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
  std::vector<tbb::task_handle> tasks;
  tasks.reserve(count);
  try {
    for (unsigned i = 0; i < count; ++i)
      tasks.push_back(start->group.defer([at = start.get()] {
        at->arrived.fetch_add(1, std::memory_order_relaxed);
        at->over.wait(false);
      }));
  } catch (...) {
    tasks.clear();
    (void)start.release();  // the group's destructor would wait for the task that could not be made
    throw;
  }
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

/// oneTBB allocates the memory for a place's tasks when a thread there spawns the first one. A parallel_for
/// waits for ever if that fails, since it has counted the task already. So a task is spawned that nobody has
/// to wait for. Returns whether later tasks can be spawned from this thread's place.
bool prepare_to_spawn(std::atomic<bool>* can_spawn) noexcept try {
  std::atomic<bool>& prepared = can_spawn[tbb::this_task_arena::current_thread_index()];
  if (prepared.load(std::memory_order_acquire)) return true;
  auto group = std::make_unique<tbb::task_group>();
  try {
    group->run([] {});
  } catch (...) {
    (void)group.release();  // its destructor would wait for the task
    return false;
  }
  group->wait();
  prepared.store(true, std::memory_order_release);
  return true;
} catch (...) {
  return false;
}

/// Participants of a fork. A thread that cannot spawn tasks runs all those that it has.
class Participants {
 public:
  Participants(unsigned count, std::atomic<bool>* can_spawn) : end_(count), can_spawn_(can_spawn) {}
  Participants(Participants& all, tbb::split)
      : begin_(all.begin_ + (all.end_ - all.begin_) / 2), end_(all.end_), can_spawn_(all.can_spawn_) {
    all.end_ = begin_;
  }
  bool empty() const { return begin_ == end_; }
  bool is_divisible() const { return end_ - begin_ > 1 && prepare_to_spawn(can_spawn_); }
  unsigned begin() const { return begin_; }
  unsigned end() const { return end_; }

 private:
  unsigned begin_ = 0, end_;
  std::atomic<bool>* can_spawn_;
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

void Arena::initialize() {
  if (std::exchange(tried_, true)) return;
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
  impl->can_spawn = std::make_unique<std::atomic<bool>[]>(helpers + entrants_);
  impl_ = impl.release();
}

bool Arena::enter(void (*body)(void*), void* context) noexcept try {
  if (!impl_) return false;
  impl_->arena.execute([=] { body(context); });
  return true;
} catch (...) {
  return false;
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
  impl_->arena.execute([=, can_spawn = impl_->can_spawn.get()] {
    tbb::this_task_arena::isolate([=] {
      // One task per participant; the left half of every split stays on this thread, including participant 0.
      tbb::parallel_for(
          Participants(participants, can_spawn),
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
