// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::hipsim {

/// Threads that help launches. Each launch also runs on its stream's thread, so it progresses when all
/// workers are busy.
class Workers {
 public:
  static Workers& instance();
  /// Sets the number of threads. Must be called before the first use.
  void resize(unsigned count);
  /// Runs `part` on this thread and on up to `helpers` workers at once. Returns when all calls have returned.
  /// Parts take work from a shared counter, so any number of them completes it.
  void run(unsigned helpers, const std::function<void()>& part);
  ~Workers();

 private:
  struct Job {
    const std::function<void()>* part;
    unsigned wanted;       // workers that may still join
    unsigned running = 0;  // workers that have joined and not returned
    std::condition_variable done;
  };
  void serve();
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job*> jobs_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace weir::hipsim
