// SPDX-License-Identifier: Apache-2.0
// Threads for host steps: callbacks and copies of pageable memory. A callback may block until work of another
// stream is complete, so every call gets a thread at once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace weir::vulkan {

class Workers {
 public:
  /// Starts the first thread, so that calls run even if the system later refuses threads. Throws
  /// std::system_error.
  void start();
  /// Calls `call` on another thread. Thread-safe.
  void run(std::function<void()> call);
  /// Ends the idle threads. No call may be pending.
  void stop() noexcept;

 private:
  void add_thread();
  void serve();

  std::mutex mutex_;
  std::condition_variable waiting_, ended_;
  std::deque<std::function<void()>> calls_;
  std::size_t idle_ = 0;  ///< threads outside of a call, including those that have just started
  std::size_t threads_ = 0;
  bool stopping_ = false;
};

}  // namespace weir::vulkan
