// SPDX-License-Identifier: Apache-2.0
#include "stream/callbacks.hpp"

#include <chrono>
#include <utility>
#include <weir/sdk/floating_point.hpp>
#include <weir/sdk/thread.hpp>

#include "stream/scheduler.hpp"

namespace weir::cpu {
namespace {
constexpr std::chrono::seconds idle_time{2};  // a thread without calls ends after this time
}

Callbacks& Callbacks::get() {
  static Callbacks* const callbacks = new Callbacks;
  return *callbacks;
}

void Callbacks::run(Stream& stream, weir_host_callback function, void* user) noexcept {
  try {
    std::unique_lock lock(mutex_);
    if (idle_ <= calls_.size()) {
      // Without a separate thread the call would wait for another call, which may depend on it.
      sdk::start_thread("weir-callback", [this] { serve(); }).detach();
      ++idle_;
    }
    calls_.push_back({&stream, function, user});
    lock.unlock();
    waiting_.notify_one();
  } catch (...) {  // no thread or no memory available: call on this thread
    call({&stream, function, user});
  }
}

bool Callbacks::runs_on_this_thread() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Inside* inside = inside_; inside; inside = inside->next)
    if (pthread_equal(inside->thread, pthread_self())) return true;
  return false;
}

void Callbacks::call(const Call& call) noexcept {
  Inside inside{pthread_self(), nullptr};
  {
    const std::lock_guard lock(mutex_);
    inside.next = std::exchange(inside_, &inside);
  }
  {
    const sdk::DefaultFloatingPoint floating_point;
    call.function(call.user);
  }
  {
    const std::lock_guard lock(mutex_);
    Inside** link = &inside_;
    while (*link != &inside) link = &(*link)->next;
    *link = inside.next;
  }
  Scheduler::get().callback_done(*call.stream);
}

// idle_ counts the threads that are not inside a call, including those that have just started.
void Callbacks::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (calls_.empty() && waiting_.wait_for(lock, idle_time) == std::cv_status::timeout && calls_.empty())
      break;
    if (calls_.empty()) continue;
    Call call = calls_.front();
    calls_.pop_front();
    --idle_;
    lock.unlock();
    this->call(call);
    lock.lock();
    ++idle_;
  }
  --idle_;
}

}  // namespace weir::cpu
