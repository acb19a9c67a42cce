// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>

namespace weir::hipsim {

/// A point in a stream's work that other streams can wait for.
class Marker {
 public:
  void reach();
  void wait();
  bool reached() const;
  /// The time when it was reached, in nanoseconds of a steady clock; 0 before.
  std::int64_t time() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::int64_t time_ = 0;
};

/// An in-order queue with a thread of its own. The destructor does not wait; submitted work still completes.
class Stream {
 public:
  Stream(int device, unsigned flags, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Work, or a marker. If a marker is reached, the work before it is done.
  using Item = std::variant<std::function<void()>, std::shared_ptr<Marker>>;
  void enqueue(Item item);
  /// Waits until all work enqueued before this call is done.
  void synchronize();
  bool idle() const;
  /// Whether the calling thread is this stream's thread.
  bool on_own_thread() const;

  const int device;
  const unsigned flags;
  const int priority;

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> items;
    std::uint64_t enqueued = 0, completed = 0;
    bool closing = false;
  };
  static void serve(const std::shared_ptr<Queue>& queue);
  std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

}  // namespace weir::hipsim
