// SPDX-License-Identifier: Apache-2.0
// The only file that includes oneTBB.
#include "stream/arena.hpp"

#include <sys/stat.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

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
};

namespace {

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
  impl_ = impl.release();
}

bool Arena::enter(void (*body)(void*), void* context) noexcept try {
  if (!impl_) return false;
  impl_->arena.execute([=] { body(context); });
  return true;
} catch (...) {
  return false;
}

// oneTBB starts its threads when there is work for them. If one cannot be started, as where the number of
// processes is limited, it ends this process or waits for ever. So other threads are started first, as many
// as it may need; they end at once.
bool Arena::helpers_can_start() noexcept try {
  if (startable_.load(std::memory_order_acquire)) return true;
  const std::unique_lock lock(starting_, std::try_to_lock);
  if (!lock) return false;  // another thread tries
  if (!startable_) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_try_) return false;
    next_try_ = now + std::chrono::seconds(1);
    (void)WaitingThreads(impl_->helpers);
    startable_.store(true, std::memory_order_release);
  }
  return true;
} catch (...) {
  return false;
}

bool Arena::fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept try {
  if (!impl_ || !helpers_can_start()) return false;
  impl_->arena.execute([=] {
    tbb::this_task_arena::isolate([=] {
      // One task per participant; the left half of every split stays on this thread, including participant 0.
      tbb::parallel_for(
          tbb::blocked_range<unsigned>(0, participants, 1),
          [=](const tbb::blocked_range<unsigned>& range) {
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
