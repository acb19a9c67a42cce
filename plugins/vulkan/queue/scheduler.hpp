// SPDX-License-Identifier: Apache-2.0
// Submits the steps of all lines of a device to its queues.
//
// On one queue, a wait for a semaphore holds back all later submissions. A step is therefore submitted only
// if everything that it waits for is certain to complete without further submissions: it is complete, or it
// was submitted earlier. Semaphores are waited for only on a queue that no other stream uses; otherwise the
// step is held back until the work of the other queue is complete. Submissions thus never wait for one
// another in a cycle, in whatever order streams record and wait for events.
//
// Each queue has one timeline semaphore, whose value counts its submissions, and one thread, which waits for
// the next value, ends the steps that have run and submits those that they held back. A thread of the program
// that waits for the next step polls for a short time and then ends it itself, because a thread that
// vkWaitSemaphores wakes is late: on an H200 by 25 to 60 us, and at times by 10 ms. There the queue's thread
// asks at intervals instead (tests/evidence/vulkan.md). No other thread calls vkWaitSemaphores.
//
// A GPU may run a few queues until they are empty, and none of the others before that: an H200 runs two
// (tests/evidence/vulkan.md). While another queue makes no progress, a queue is therefore left to run out of
// work after each turn of some milliseconds.
#pragma once

#include <chrono>
#include <span>
#include <thread>

#include "queue/line.hpp"
#include "queue/workers.hpp"

namespace weir::vulkan {

struct Queue {
  VkQueue handle = VK_NULL_HANDLE;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  bool urgent = false;

  // Guarded by the scheduler's mutex.
  struct Submitted {
    std::shared_ptr<Line> line;
    Step step;
  };
  std::uint64_t value = 0;    ///< of the last submission
  std::uint64_t reached = 0;  ///< that the semaphore has reached; the highest one if the device is lost
  Fifo<Submitted> in_flight;
  std::chrono::steady_clock::time_point busy_since;      ///< when `in_flight` was empty last
  std::chrono::steady_clock::time_point progress_since;  ///< when its front became the front
  std::vector<std::shared_ptr<Line>> held;               ///< lines to look at when `in_flight` is empty
  std::uint32_t lines = 0;                               ///< streams that use the queue
  std::condition_variable work;      ///< for the queue's thread
  std::condition_variable advanced;  ///< when `reached` has changed
  std::thread watcher;
  std::uint32_t pollers = 0;  ///< threads that poll; the queue's thread sleeps meanwhile

  /// Held by the thread that ends steps, from their removal from `in_flight` until they are complete, so that
  /// the order of the queue is kept. Locked before the scheduler's mutex.
  std::mutex ending;
};

class Scheduler {
 public:
  explicit Scheduler(Device& device) : device_(device) {}

  /// `queues` of the device, of which the last `urgent` have a higher priority.
  void start(std::uint32_t queues, std::uint32_t urgent);
  /// Waits until all work is complete, then ends the threads.
  void stop() noexcept;

  /// The queue with the fewest streams; `release` takes the stream off it.
  Queue& choose(bool urgent);
  void release(Queue& queue) noexcept;

  /// Appends a closed step and submits the steps that are ready. The caller holds the line's recording mutex.
  void append(Line& line, Step step);
  /// Blocks until the mark is complete. Throws the line's failure, once.
  void wait(const Mark& mark);
  /// Like wait, without the failure.
  void wait_quietly(const Mark& mark);
  /// Throws the line's failure, once.
  void report(Line& line);
  /// Submits one command buffer outside of all lines. Returns the value to wait for with `wait_for`.
  std::uint64_t submit_now(Queue& queue, VkCommandBuffer commands);
  /// Blocks until the queue's semaphore has reached a value that was submitted, or the device is lost.
  void wait_for(Queue& queue, std::uint64_t value);

 private:
  using Lines = std::vector<std::shared_ptr<Line>>;
  void advance(Lines lines);
  bool advance_one(Line& line);
  bool is_ready(Line& line, Step& step);
  /// Whether the queue must run out of work before it gets more.
  bool must_run_dry(const Queue& queue) const;
  void submit(Line& line, Step step);
  /// Asks for the value of the queue's semaphore. Thread-safe.
  std::uint64_t ask(Queue& queue) noexcept;
  /// Blocks the queue's thread until the queue has reached `next`, or the device is lost.
  void wait_for_next(Queue& queue, std::uint64_t next) noexcept;
  /// Polls for a short time until the queue has reached `value`. The mutex is held, but not meanwhile.
  bool poll(Queue& queue, std::uint64_t value, std::unique_lock<std::mutex>& lock);
  /// Submits `commands`, which may be null, as the queue's next value. The mutex is held.
  VkResult submit_next(Queue& queue, VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits);
  void start_host(Line& line);
  void end_host(const std::shared_ptr<Line>& line, std::optional<sdk::Failure> failure) noexcept;
  void watch(Queue& queue);
  void end_steps(Queue& queue, std::uint64_t reached) noexcept;
  void finish(Line& line, Step& step) noexcept;

  Device& device_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::uint32_t urgent_ = 0;
  std::vector<VkSemaphoreSubmitInfo> semaphore_waits_;  ///< of the step that is being submitted
  std::uint64_t unfinished_ = 0;  ///< steps that were appended and are not complete
  bool stopping_ = false;
  Workers workers_;
};

}  // namespace weir::vulkan
