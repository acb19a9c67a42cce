// SPDX-License-Identifier: Apache-2.0
#include "queue/workers.hpp"

#include <chrono>
#include <system_error>
#include <weir/sdk/thread.hpp>

namespace weir::vulkan {
namespace {
constexpr std::chrono::seconds idle_time{2};  // a thread without calls ends after this time
}

void Workers::start() {
  std::lock_guard lock(mutex_);
  if (threads_ == 0) add_thread();
}

void Workers::add_thread() {
  sdk::start_thread("weir-callback", [this] { serve(); }).detach();
  ++threads_;
  ++idle_;
}

void Workers::run(std::function<void()> call) {
  std::lock_guard lock(mutex_);
  if (idle_ <= calls_.size()) {
    try {
      add_thread();
    } catch (const std::system_error&) {  // the call waits for a thread that exists
    }
  }
  calls_.push_back(std::move(call));
  waiting_.notify_one();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (calls_.empty() && waiting_.wait_for(lock, idle_time) == std::cv_status::timeout && calls_.empty() &&
        threads_ > 1)
      break;
    if (calls_.empty()) continue;
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    --idle_;
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
    ++idle_;
  }
  --idle_;
  --threads_;
  ended_.notify_all();
}

void Workers::stop() noexcept {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  waiting_.notify_all();
  ended_.wait(lock, [&] { return threads_ == 0; });
  stopping_ = false;
}

}  // namespace weir::vulkan
