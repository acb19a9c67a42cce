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

/// Threads that help launches. Each launch runs on its stream's thread too, so that it goes on when all are
/// busy.
class Workers {
 public:
  static Workers& instance();
  /// Makes it so many threads; called before the first use.
  void resize(unsigned count);
  /// Runs `part` on this thread and on up to `helpers` workers at once, and returns when all have returned.
  /// Parts take their work from a shared counter, so that any number of them gets it done.
  void run(unsigned helpers, const std::function<void()>& part);
  ~Workers();

 private:
  struct Job {
    const std::function<void()>* part;
    unsigned wanted;       // workers that may still join
    unsigned running = 0;  // that have joined and not returned
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
