// SPDX-License-Identifier: Apache-2.0
// The queues of held calls, and their submission to the driver.
#include "held.hpp"

#include <algorithm>
#include <thread>
#include <vector>
#include <weir/sdk/status.hpp>

namespace weir::fault {

Held::Held(const weir_driver_table& next, std::uint64_t milliseconds, std::optional<std::uint64_t> seed)
    : next_(next),
      most_(std::chrono::milliseconds(milliseconds)),
      reorder_(seed.has_value()),
      random_(static_cast<std::minstd_rand::result_type>(seed.value_or(1))) {}

std::uint64_t Held::count() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::shared_ptr<Held::Queue> Held::queue_of(weir_stream stream) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Queue>& queue = queues_[stream];
  if (!queue) {
    queue = std::make_shared<Queue>();
    queue->stream = stream;
  }
  return queue;
}

weir_result Held::late_failure(Queue& queue, weir_status* status) {
  const std::lock_guard lock(mutex_);
  if (queue.failure == WEIR_OK) return WEIR_OK;
  const weir_result failure = queue.failure;
  sdk::report(status, failure, queue.words.c_str());
  queue.failure = WEIR_OK;
  return failure;
}

weir_result Held::hold(weir_stream stream, Call call, weir_status* status, std::shared_ptr<Mark> after,
                       std::shared_ptr<Mark> record) {
  const std::shared_ptr<Queue> queue = queue_of(stream);
  if (const weir_result failure = late_failure(*queue, status); failure != WEIR_OK) return failure;
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = next_number_++;
  if (record) {
    record->queue = queue;
    record->number = number;
  }
  if (!watched_) {
    std::thread([this] { watch(); }).detach();
    watched_ = true;
  }
  queue->operations.push_back({number, std::move(call), std::move(after), std::move(record)});
  if (held_++ == 0) oldest_ = Clock::now();
  submitted_.notify_one();
  return WEIR_OK;
}

// Submits the calls of `queue` up to that number, each after the record that it waits for. A wait is
// submitted after the record that it names, so the numbers decrease and the recursion ends. order_ must be
// held.
void Held::start(Queue& queue, std::uint64_t up_to) {
  for (;;) {
    Operation operation;
    {
      const std::lock_guard lock(mutex_);
      if (queue.operations.empty() || queue.operations.front().number > up_to) return;
      operation = std::move(queue.operations.front());
      queue.operations.pop_front();
      --held_;
    }
    if (operation.after) {
      bool started;
      {
        const std::lock_guard lock(mutex_);
        started = operation.after->started;
      }
      if (!started) start(*operation.after->queue, operation.after->number);
    }
    weir_status status{};
    status.struct_size = sizeof status;
    const weir_result result = operation.call(&status);
    const std::lock_guard lock(mutex_);
    if (operation.record) operation.record->started = true;
    if (result != WEIR_OK && queue.failure == WEIR_OK) {
      queue.failure = result;
      queue.words = status.message;
    }
  }
}

// order_ must be held.
void Held::start_in_some_order() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [stream, queue] : queues_)
      if (!queue->operations.empty()) queues.push_back(queue);
  }
  std::ranges::sort(queues, {}, [](const auto& queue) { return queue->operations.front().number; });
  if (reorder_) std::ranges::shuffle(queues, random_);
  for (const auto& queue : queues) start(*queue, ~std::uint64_t{0});
}

void Held::start_all() {
  const std::lock_guard order(order_);
  start_in_some_order();
}

void Held::start_for(weir_stream stream) {
  const std::shared_ptr<Queue> queue = queue_of(stream);
  const std::lock_guard order(order_);
  if (reorder_) start_in_some_order();
  start(*queue, ~std::uint64_t{0});
}

// Submits held work within a bounded time, even if the host never flushes.
void Held::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [&] { return held_ != 0; });
    const Clock::time_point when = oldest_ + most_;
    if (Clock::now() < when) {
      submitted_.wait_until(lock, when);
      continue;
    }
    oldest_ = Clock::now();
    std::vector<weir_stream> streams;
    for (const auto& [stream, queue] : queues_)
      if (!queue->operations.empty()) streams.push_back(stream);
    lock.unlock();
    {
      const std::lock_guard order(order_);
      start_in_some_order();
      for (const weir_stream stream : streams) {
        bool alive;
        {
          const std::lock_guard again(mutex_);
          alive = queues_.contains(stream);
        }
        if (alive) next_.stream_flush(stream, nullptr);  // the stream exists: destroying it waits for order_
      }
    }
    lock.lock();
  }
}

}  // namespace weir::fault
