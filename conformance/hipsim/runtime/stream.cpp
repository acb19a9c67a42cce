// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.hpp"

#include <chrono>

namespace weir::hipsim {

void Marker::reach() {
  const std::scoped_lock lock(mutex_);
  reached_ = true;
  time_ = std::chrono::steady_clock::now().time_since_epoch().count();
  changed_.notify_all();
}

void Marker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_; });
}

bool Marker::reached() const {
  const std::scoped_lock lock(mutex_);
  return reached_;
}

std::int64_t Marker::time() const {
  const std::scoped_lock lock(mutex_);
  return time_;
}

Stream::Stream(int device, unsigned flags, int priority)
    : device(device),
      flags(flags),
      priority(priority),
      queue_(std::make_shared<Queue>()),
      thread_([queue = queue_] { serve(queue); }) {}

Stream::~Stream() {
  // The thread owns its queue and ends after the last work. It is detached before it can end. If a thread
  // ends at the same time, pthread_detach of glibc 2.36 accesses it after its memory was freed (glibc bug
  // 19951).
  thread_.detach();
  {
    const std::scoped_lock lock(queue_->mutex);
    queue_->closing = true;
  }
  queue_->changed.notify_all();
}

void Stream::serve(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock, [&] { return queue->closing || !queue->items.empty(); });
    if (queue->items.empty()) return;
    Item item = std::move(queue->items.front());
    queue->items.pop_front();
    if (auto* const work = std::get_if<std::function<void()>>(&item)) {
      lock.unlock();
      (*work)();
      *work = nullptr;  // destroys the work's resources before it counts as done
      lock.lock();
    }
    ++queue->completed;
    if (auto* const marker = std::get_if<std::shared_ptr<Marker>>(&item)) (*marker)->reach();
    queue->changed.notify_all();
  }
}

void Stream::enqueue(Item item) {
  {
    const std::scoped_lock lock(queue_->mutex);
    queue_->items.push_back(std::move(item));
    ++queue_->enqueued;
  }
  queue_->changed.notify_all();
}

void Stream::synchronize() {
  std::unique_lock lock(queue_->mutex);
  const std::uint64_t target = queue_->enqueued;
  queue_->changed.wait(lock, [&] { return queue_->completed >= target; });
}

bool Stream::idle() const {
  const std::scoped_lock lock(queue_->mutex);
  return queue_->completed == queue_->enqueued;
}

bool Stream::on_own_thread() const {
  return std::this_thread::get_id() == thread_.get_id();
}

}  // namespace weir::hipsim
