// SPDX-License-Identifier: Apache-2.0
#include "queue/scheduler.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <weir/sdk/thread.hpp>

#include "driver.hpp"

namespace weir::vulkan {
namespace {

/// How late vkWaitSemaphores wakes a thread on an H200.
constexpr std::chrono::microseconds poll_time{50};
/// Between two questions of a queue's thread, which are at most 1/64 of the wait apart.
constexpr std::chrono::microseconds min_interval{20}, max_interval{1000};
/// For which a queue gets work without a pause although another one waits. A pause is about 50 us, 1 % of it.
constexpr std::chrono::milliseconds turn{5};

/// Registers a line once.
void add(std::vector<std::shared_ptr<Line>>& lines, Line& line) {
  std::shared_ptr<Line> self = line.shared_from_this();
  if (std::ranges::find(lines, self) == lines.end()) lines.push_back(std::move(self));
}

}  // namespace

void Scheduler::start(std::uint32_t queues, std::uint32_t urgent) {
  urgent_ = urgent;
  stopping_ = false;
  workers_.start();
  for (std::uint32_t i = 0; i < queues; ++i) {
    Queue& queue = *queues_.emplace_back(std::make_unique<Queue>());  // stop() ends those of a failed start too
    device_.vk.vkGetDeviceQueue(device_.handle, device_.physical->family, i, &queue.handle);
    queue.urgent = i + urgent >= queues;
    auto type = make<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    auto create = make<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    create.pNext = &type;
    check(device_.vk.vkCreateSemaphore(device_.handle, &create, nullptr, &queue.semaphore),
          "create a timeline semaphore");
  }
}

void Scheduler::stop() noexcept {
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return unfinished_ == 0; });
    stopping_ = true;
    for (const auto& queue : queues_) queue->work.notify_all();
  }
  workers_.stop();
  for (const auto& queue : queues_) {
    if (queue->watcher.joinable()) queue->watcher.join();
    device_.vk.vkDestroySemaphore(device_.handle, queue->semaphore, nullptr);
  }
  queues_.clear();
}

Queue& Scheduler::choose(bool urgent) {
  std::lock_guard lock(mutex_);
  const bool wanted = urgent && urgent_ > 0;
  Queue* best = nullptr;
  for (const auto& queue : queues_)
    if (queue->urgent == wanted && (!best || queue->lines < best->lines)) best = queue.get();
  if (!best->watcher.joinable())
    best->watcher = sdk::start_thread("weir-vulkan", [this, best] { watch(*best); });
  ++best->lines;
  return *best;
}

void Scheduler::release(Queue& queue) noexcept {
  std::lock_guard lock(mutex_);
  --queue.lines;
}

void Scheduler::append(Line& line, Step step) {
  std::lock_guard lock(mutex_);
  // Most steps are batches that can start at once.
  if (line.steps.empty() && !step.host && is_ready(line, step)) {
    ++unfinished_;
    submit(line, std::move(step));
    if (!line.waiters.empty()) advance(std::exchange(line.waiters, {}));
    return;
  }
  line.steps.push(std::move(step));
  ++unfinished_;
  advance({line.shared_from_this()});
}

void Scheduler::report(Line& line) {
  device_.check_present();
  std::lock_guard lock(mutex_);
  if (!line.failure) return;
  const sdk::Failure failure = *line.failure;
  line.failure.reset();
  throw failure;
}

void Scheduler::wait_quietly(const Mark& mark) {
  if (mark.is_complete()) return;
  Line& line = *mark.line;
  std::unique_lock lock(mutex_);
  while (!mark.is_complete()) {
    const auto flying = line.in_flight.items();
    const auto step =
        std::ranges::lower_bound(flying, mark.position, {}, [](const auto& one) { return one.first; });
    if (step == flying.end()) {  // held back, or a call on the host
      line.changed.wait(lock);
      continue;
    }
    Queue& queue = line.queue;
    const std::uint64_t value = step->second;
    // Another thread may be ending the step, which is on the queue no longer then.
    const bool is_next = queue.in_flight.empty() || queue.in_flight.front().step.value >= value;
    if (is_next && poll(queue, value, lock)) {
      lock.unlock();
      end_steps(queue, value);
      lock.lock();
    } else if (!mark.is_complete()) {
      line.changed.wait(lock);
    }
  }
}

void Scheduler::wait(const Mark& mark) {
  if (!mark.line) return;
  wait_quietly(mark);
  report(*mark.line);
}

/// Submits the ready steps of the lines and of the lines that wait for them. The mutex is held.
void Scheduler::advance(Lines lines) {
  while (!lines.empty()) {
    const std::shared_ptr<Line> line = std::move(lines.back());
    lines.pop_back();
    bool progress = false;
    while (advance_one(*line)) progress = true;
    if (!progress) continue;
    for (auto& waiter : line->waiters) lines.push_back(std::move(waiter));
    line->waiters.clear();
  }
}

/// Starts the line's next step, if it can start. The mutex is held.
bool Scheduler::advance_one(Line& line) {
  if (line.steps.empty() || line.host_running) return false;
  Step& step = line.steps.front();
  if (!is_ready(line, step)) return false;
  if (step.host) {
    if (!line.in_flight.empty()) return false;
    start_host(line);
    return false;  // the position is complete only when the call has returned
  }
  submit(line, line.steps.pop());
  return true;
}

bool Scheduler::must_run_dry(const Queue& queue) const {
  if (queue.in_flight.empty()) return false;
  using Clock = std::chrono::steady_clock;
  Clock::time_point others = Clock::time_point::max();  // since when one of them makes no progress
  for (const auto& other : queues_)
    if (other.get() != &queue && !other->in_flight.empty()) others = std::min(others, other->progress_since);
  return others != Clock::time_point::max() && Clock::now() - std::max(others, queue.busy_since) >= turn;
}

/// Removes the waits that need no semaphore. False, with the line registered where it waits, if the step must
/// be held back.
bool Scheduler::is_ready(Line& line, Step& step) {
  const auto is_certain = [&](const Mark& mark) {
    const auto flying = mark.line->in_flight.items();
    const bool submitted = !flying.empty() && flying.back().first >= mark.position;
    if (!submitted || step.host) return false;
    return &mark.line->queue == &line.queue || line.queue.lines == 1;
  };
  for (const Mark& mark : step.waits) {
    if (mark.is_complete() || is_certain(mark)) continue;
    add(mark.line->waiters, line);
    return false;
  }
  if (!step.host && must_run_dry(line.queue)) {
    add(line.queue.held, line);
    return false;
  }
  // Batches begin with a barrier that covers everything submitted earlier to their queue.
  std::erase_if(step.waits,
                [&](const Mark& mark) { return mark.is_complete() || &mark.line->queue == &line.queue; });
  return true;
}

void Scheduler::submit(Line& line, Step step) {
  Queue& queue = line.queue;
  semaphore_waits_.clear();
  for (const Mark& mark : step.waits) {
    const auto flying = mark.line->in_flight.items();
    const auto found =
        std::ranges::find_if(flying, [&](const auto& one) { return one.first >= mark.position; });
    auto wait = make<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    wait.semaphore = mark.line->queue.semaphore;
    wait.value = found->second;
    wait.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    semaphore_waits_.push_back(wait);
  }
  const VkResult result =
      device_.is_lost() ? VK_ERROR_DEVICE_LOST : submit_next(queue, step.commands, semaphore_waits_);
  // Without the submission the queue's semaphore would never reach later values. The watcher ends all steps
  // of a lost device.
  if (result < 0) device_.lose(result, "submit work to a queue");
  step.value = ++queue.value;
  if (queue.in_flight.empty()) queue.busy_since = queue.progress_since = std::chrono::steady_clock::now();
  line.in_flight.push({step.position, step.value});
  queue.in_flight.push({line.shared_from_this(), std::move(step)});
  if (queue.pollers == 0) queue.work.notify_one();
}

VkResult Scheduler::submit_next(Queue& queue, VkCommandBuffer commands,
                                std::span<const VkSemaphoreSubmitInfo> waits) {
  auto buffer = make<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
  buffer.commandBuffer = commands;
  auto signal = make<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
  signal.semaphore = queue.semaphore;
  signal.value = queue.value + 1;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  auto info = make<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
  info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
  info.pWaitSemaphoreInfos = waits.data();
  info.commandBufferInfoCount = commands ? 1 : 0;
  info.pCommandBufferInfos = &buffer;
  info.signalSemaphoreInfoCount = 1;
  info.pSignalSemaphoreInfos = &signal;
  return device_.vk.vkQueueSubmit2(queue.handle, 1, &info, VK_NULL_HANDLE);
}

std::uint64_t Scheduler::submit_now(Queue& queue, VkCommandBuffer buffer) {
  std::lock_guard lock(mutex_);
  device_.check_present();
  if (const VkResult result = submit_next(queue, buffer, {}); result < 0) {
    device_.lose(result, "submit a copy to a queue");
    device_.check_present();
  }
  return ++queue.value;
}

std::uint64_t Scheduler::ask(Queue& queue) noexcept {
  std::uint64_t value = 0;
  if (!device_.is_lost())
    if (const VkResult result =
            device_.vk.vkGetSemaphoreCounterValue(device_.handle, queue.semaphore, &value);
        result < 0)
      device_.lose(result, "ask for a queue's progress");
  return device_.is_lost() ? ~std::uint64_t{0} : value;
}

bool Scheduler::poll(Queue& queue, std::uint64_t value, std::unique_lock<std::mutex>& lock) {
  if (queue.reached >= value) return true;
  if (device_.physical->is_cpu()) return false;  // it needs the processor itself
  ++queue.pollers;
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + poll_time;
  std::uint64_t now = 0;
  while ((now = ask(queue)) < value && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  lock.lock();
  if (now > queue.reached) {
    queue.reached = now;
    queue.advanced.notify_all();
  }
  --queue.pollers;
  if (now < value) queue.work.notify_one();
  return now >= value;
}

void Scheduler::wait_for(Queue& queue, std::uint64_t value) {
  std::unique_lock lock(mutex_);
  poll(queue, value, lock);
  queue.work.notify_one();  // for this value, or for steps that the queue has reached before it
  queue.advanced.wait(lock, [&] { return queue.reached >= value; });
}

/// The mutex is held, and all earlier steps of the line are complete.
void Scheduler::start_host(Line& line) {
  line.host_running = true;
  std::shared_ptr<Line> self = line.shared_from_this();
  // The call moves into a shared object because std::function copies.
  auto call = std::make_shared<std::function<void()>>(std::move(line.steps.front().host));
  workers_.run([this, self = std::move(self), call = std::move(call)] {
    std::optional<sdk::Failure> failure;
    try {
      (*call)();
    } catch (const sdk::Failure& thrown) {
      failure = thrown;
    } catch (const std::exception& thrown) {
      failure = sdk::Failure{WEIR_ERROR_UNKNOWN, thrown.what()};
    }
    *call = nullptr;
    end_host(self, std::move(failure));
  });
}

void Scheduler::end_host(const std::shared_ptr<Line>& line, std::optional<sdk::Failure> failure) noexcept {
  {
    std::lock_guard lock(mutex_);
    Step step = line->steps.pop();
    line->host_running = false;
    if (failure && !line->failure) line->failure = std::move(failure);
    finish(*line, step);
    Lines lines = std::move(line->waiters);
    line->waiters.clear();
    lines.push_back(line);
    advance(std::move(lines));
    if (unfinished_ == 0) idle_.notify_all();
  }
  flush_quietly(*line, &Line::flush_if_idle);
}

/// Marks a step as complete. The mutex is held.
void Scheduler::finish(Line& line, Step& step) noexcept {
  for (const Range& range : step.ranges) device_.heap.free(range);
  if (step.commands) line.recycle(step.commands);
  line.completed.store(step.position, std::memory_order_release);
  line.changed.notify_all();
  --unfinished_;
}

void Scheduler::wait_for_next(Queue& queue, std::uint64_t next) noexcept {
  if (device_.physical->wakes_in_time()) {
    auto wait = make<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    wait.semaphoreCount = 1;
    wait.pSemaphores = &queue.semaphore;
    wait.pValues = &next;
    constexpr std::uint64_t second = 1'000'000'000;
    VkResult result = VK_TIMEOUT;
    while (result == VK_TIMEOUT && !device_.is_lost())
      result = device_.vk.vkWaitSemaphores(device_.handle, &wait, second);
    if (result < 0) device_.lose(result, "wait for a queue's work");
    return;
  }
  using std::chrono::nanoseconds;
  const auto begin = std::chrono::steady_clock::now();
  while (ask(queue) < next) {
    const nanoseconds waited = std::chrono::steady_clock::now() - begin;
    std::this_thread::sleep_for(std::clamp<nanoseconds>(waited / 64, min_interval, max_interval));
  }
}

void Scheduler::watch(Queue& queue) {
  prctl(PR_SET_TIMERSLACK, 1);  // ns; 50 us otherwise, which is longer than most intervals
  std::unique_lock lock(mutex_);
  while (true) {
    queue.work.wait(lock, [&] {
      if (stopping_ && queue.in_flight.empty()) return true;
      return queue.pollers == 0 && (queue.reached < queue.value || !queue.in_flight.empty());
    });
    if (queue.in_flight.empty() && stopping_) return;
    // A thread that has polled may have seen a later value than that of the first step in flight.
    std::uint64_t next = queue.reached + 1;
    if (!queue.in_flight.empty()) next = std::min(next, queue.in_flight.front().step.value);
    lock.unlock();
    wait_for_next(queue, next);
    const std::uint64_t reached = ask(queue);
    lock.lock();
    queue.reached = std::max(queue.reached, reached);
    queue.advanced.notify_all();
    lock.unlock();
    end_steps(queue, reached);
    lock.lock();
  }
}

/// Ends the steps whose values the queue has reached, unless another thread has ended them. No mutex is held.
void Scheduler::end_steps(Queue& queue, std::uint64_t reached) noexcept {
  std::unique_lock turn(queue.ending);
  std::unique_lock lock(mutex_);
  std::vector<Queue::Submitted> done;
  while (!queue.in_flight.empty() && queue.in_flight.front().step.value <= reached)
    done.push_back(queue.in_flight.pop());
  if (!done.empty()) queue.progress_since = std::chrono::steady_clock::now();
  Lines held;
  if (queue.in_flight.empty()) held.swap(queue.held);
  if (!queue.in_flight.empty()) queue.work.notify_one();  // the caller may be a thread that has polled
  lock.unlock();
  for (Queue::Submitted& one : done) {
    for (const auto& call : one.step.after) call();
    one.step.after.clear();
    one.step.kept.clear();
  }
  lock.lock();
  Lines lines = held;
  for (Queue::Submitted& one : done) {
    // A step is reported as complete only after the steps that it waited for. Those are on other queues,
    // whose threads may be late.
    for (const Mark& mark : one.step.waits) mark.line->changed.wait(lock, [&] { return mark.is_complete(); });
    Line& line = *one.line;
    line.in_flight.pop();
    finish(line, one.step);
    for (auto& waiter : line.waiters) lines.push_back(std::move(waiter));
    line.waiters.clear();
    if (!line.steps.empty()) add(lines, line);
  }
  advance(std::move(lines));
  if (unfinished_ == 0) idle_.notify_all();
  lock.unlock();
  turn.unlock();
  for (Queue::Submitted& one : done) flush_quietly(*one.line, &Line::flush_if_idle);
  held.clear();  // may end lines, as the next call, which must not happen under the mutex
  done.clear();
}

}  // namespace weir::vulkan
