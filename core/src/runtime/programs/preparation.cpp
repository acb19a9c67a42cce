// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <system_error>
#include <thread>
#include <weir/preparation.hpp>
#include <weir/sdk/thread.hpp>

#include "runtime/errors/thrown_copy.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir {
namespace detail {
namespace {

/// Destroying a program cancels its jobs that have not begun.
struct Job {
  std::weak_ptr<ProgramState> program;
  DeviceState* device;
  std::shared_ptr<PreparationState> preparation;
};

void end_job(PreparationState& preparation, std::exception_ptr error) noexcept {
  const std::lock_guard lock(preparation.mutex);
  if (error && !preparation.error) preparation.error = std::move(error);
  if (preparation.jobs.fetch_sub(1, std::memory_order_release) == 1) preparation.ended.notify_all();
}

void run(const Job& job) noexcept {
  std::exception_ptr error;
  try {
    if (const std::shared_ptr<ProgramState> program = job.program.lock())
      compile_usual_variants(*program, *job.device);
  } catch (...) {
    error = std::current_exception();
  }
  end_job(*job.preparation, std::move(error));
}

[[noreturn]] void refuse_at_end() {
  throw Error(ErrorCode::system,
              "the compilation in the background was given up because the process is ending");
}

/// Whether this thread is a background thread, and in the part of its work that may call drivers.
thread_local bool is_background = false, is_in_driver = false;

class Preparations {
 public:
  void add(std::list<Job>&& jobs) {
    std::unique_lock lock(mutex_);
    if (ending_) refuse_at_end();
    for (std::size_t i = 0; i < jobs.size() && threads_ < most_; ++i) try {
        sdk::start_thread("weir-prepare", [this] { serve(); }).detach();
        ++threads_;
      } catch (const std::system_error&) {
        break;
      }
    if (threads_ > 0) return jobs_.splice(jobs_.end(), jobs);
    lock.unlock();
    for (const Job& job : jobs) run(job);
  }

  void end(std::optional<std::chrono::steady_clock::time_point> until) noexcept {
    std::list<Job> dropped;
    {
      std::unique_lock lock(mutex_);
      ending_ = true;
      dropped.swap(jobs_);
    }
    for (const Job& job : dropped) try {
        refuse_at_end();
      } catch (...) {
        end_job(*job.preparation, std::current_exception());
      }
    std::unique_lock lock(mutex_);
    const auto none = [this] { return in_driver_ == 0; };
    if (until)
      left_.wait_until(lock, *until, none);
    else
      left_.wait(lock, none);
  }

  bool enter() noexcept {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    ++in_driver_;
    return is_in_driver = true;
  }
  void leave() noexcept {
    if (!std::exchange(is_in_driver, false)) return;
    const std::lock_guard lock(mutex_);
    if (--in_driver_ == 0) left_.notify_all();
  }

 private:
  void serve() noexcept {
    is_background = true;
    for (std::list<Job> next; take(next); next.clear()) {
      run(next.front());
      leave();
    }
  }

  /// Takes the next job and enters the driver. Returns false if there is none; the thread must then end.
  bool take(std::list<Job>& next) noexcept {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) {
      --threads_;
      return false;
    }
    next.splice(next.end(), jobs_, jobs_.begin());
    ++in_driver_;
    return is_in_driver = true;
  }

  const unsigned most_ = std::max(std::thread::hardware_concurrency(), 1u);
  std::mutex mutex_;
  std::condition_variable left_;
  std::list<Job> jobs_;
  unsigned threads_ = 0;
  unsigned in_driver_ = 0;
  bool ending_ = false;
};

// Never destroyed: threads may still compile while the process exits, and after a fork another thread of the
// parent may have held the lock.
std::atomic<Preparations*> current{nullptr};

Preparations& preparations() {
  if (Preparations* const ready = current.load(std::memory_order_acquire)) return *ready;
  auto made = std::make_unique<Preparations>();
  Preparations* ready = nullptr;
  if (current.compare_exchange_strong(ready, made.get(), std::memory_order_acq_rel)) ready = made.release();
  return *ready;
}

}  // namespace

std::shared_ptr<PreparationState> prepare_in_background(const std::shared_ptr<ProgramState>& program,
                                                        std::vector<DeviceState*> devices) {
  auto state = std::make_shared<PreparationState>();
  state->devices = std::move(devices);
  std::list<Job> jobs;
  for (DeviceState* const device : state->devices) jobs.push_back({program, device, state});
  state->jobs = jobs.size();
  if (!jobs.empty()) preparations().add(std::move(jobs));
  return state;
}

void end_preparations(std::optional<std::chrono::steady_clock::time_point> until) noexcept {
  if (Preparations* const running = current.load(std::memory_order_acquire)) running->end(until);
}

void forget_preparations() noexcept {
  current.store(nullptr, std::memory_order_release);
}

void leave_driver() noexcept {
  if (is_background) preparations().leave();
}

void return_to_driver() {
  if (is_background && !preparations().enter()) refuse_at_end();
}

}  // namespace detail

bool Preparation::ready() const noexcept {
  return !state_ || state_->jobs.load(std::memory_order_acquire) == 0;
}

void Preparation::wait() const try {
  if (!state_) return;
  // In a forked child, a thread of the parent may have held the lock.
  for (const detail::DeviceState* device : state_->devices) device->check_not_forked();
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [this] { return state_->jobs == 0; });
  if (state_->error) detail::throw_copy(state_->error);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
