// SPDX-License-Identifier: Apache-2.0
// The queue of a stream of the tutorial's driver: work that runs in order, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <weir/sdk/floating_point.hpp>
#include <weir/sdk/fork.hpp>

class Queue {
 public:
  static std::shared_ptr<Queue> start() {
    weir::sdk::notice_forks();  // a child made by fork has no threads; its calls are refused
    auto queue = std::make_shared<Queue>();
    // The thread shares ownership of the queue, so submitted work completes after the stream is destroyed.
    std::thread([queue, counted = Running()]() mutable { std::exchange(queue, nullptr)->run(); }).detach();
    return queue;
  }

  /// Waits until all closed queues have done their work.
  static void finish() {
    std::unique_lock lock(Running::all().mutex);
    Running::all().changed.wait(lock, [] { return Running::all().count == 0; });
  }

  /// Appends `work` to the queue and returns its number; the first is 1.
  std::uint64_t submit(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
    return ++submitted_;
  }

  /// The number of the last submitted work, 0 if there is none.
  std::uint64_t submitted() const {
    std::lock_guard lock(mutex_);
    return submitted_;
  }

  bool is_done(std::uint64_t number) const {
    std::lock_guard lock(mutex_);
    return done_ >= number;
  }

  void wait_for(std::uint64_t number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
  }

  /// Ends submission. Does not wait: the thread exits when all work is done.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  /// Counts the queues whose threads run.
  class Running {
   public:
    struct All {
      std::mutex mutex;
      std::condition_variable changed;
      int count = 0;
    };
    static All& all() {
      static All* const all = new All;  // never destroyed: threads may outlive the program's end
      return *all;
    }

    Running() { add(1); }
    Running(const Running&) { add(1); }
    ~Running() { add(-1); }

   private:
    static void add(int change) {
      std::lock_guard lock(all().mutex);
      all().count += change;
      all().changed.notify_all();
    }
  };

  /// Kernels and callbacks run in the default floating-point environment, whatever an earlier one has left.
  static void run_one(const std::function<void()>& work) {
    const weir::sdk::DefaultFloatingPoint floating_point;
    work();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      run_one(work);
      work = nullptr;  // releases the work's resources before waiters see it as done
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t submitted_ = 0, done_ = 0;
  bool closed_ = false;
};
