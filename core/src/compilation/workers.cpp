// SPDX-License-Identifier: Apache-2.0
#include "compilation/workers.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace weir::compilation {
namespace {

unsigned processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 1;
}

}  // namespace

Workers::Workers(GeneratorPolicy policy)
    : policy_(std::move(policy)), most_(std::clamp(processors(), 2u, 64u)) {
  idle_.reserve(most_);  // so that give_back() does not fail
}

Worker Workers::take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return busy_ < most_; });
  while (!idle_.empty()) {
    Worker worker = std::move(idle_.back());
    idle_.pop_back();
    if (!worker.usable()) continue;
    ++busy_;
    return worker;
  }
  // Called under the lock, because other threads would otherwise start the same process.
  try {
    Worker worker = make_worker();
    ++busy_;
    return worker;
  } catch (...) {
    lock.unlock();
    returned_.notify_one();  // the room that this thread was woken for
    throw;
  }
}

Worker Workers::make_worker() {
  if (generator_)
    if (std::optional<Worker> worker = generator_->add_worker()) return std::move(*worker);
  generator_.reset();
  Worker first = Generator::start(policy_);
  generator_ = first.generator();
  return first;
}

void Workers::give_back(Worker worker) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
    --busy_;
  }
  returned_.notify_one();
}

void Workers::give_up() {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
  }
  returned_.notify_one();
}

void Workers::leave(const std::shared_ptr<const Generator>& stuck) {
  const std::lock_guard lock(mutex_);
  if (generator_ == stuck) generator_.reset();
}

}  // namespace weir::compilation
