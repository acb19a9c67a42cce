// SPDX-License-Identifier: Apache-2.0
#include "execute/workers.hpp"

#include <algorithm>

namespace weir::hipsim {

Workers& Workers::instance() {
  static Workers& workers = *new Workers;  // never destroyed: programs may launch while they exit
  return workers;
}

void Workers::resize(unsigned count) {
  const std::scoped_lock lock(mutex_);
  while (threads_.size() < count) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = *jobs_.front();
    if (--job.wanted == 0) jobs_.pop_front();
    ++job.running;
    lock.unlock();
    (*job.part)();
    lock.lock();
    if (--job.running == 0) job.done.notify_all();
  }
}

void Workers::run(unsigned helpers, const std::function<void()>& part) {
  Job job{&part, helpers, 0, {}};
  if (helpers) {
    {
      const std::scoped_lock lock(mutex_);
      if (threads_.empty())
        job.wanted = 0;
      else
        jobs_.push_back(&job);
    }
    work_.notify_all();
  }
  part();
  std::unique_lock lock(mutex_);
  if (job.wanted) std::erase(jobs_, &job);
  job.wanted = 0;
  job.done.wait(lock, [&] { return job.running == 0; });
}

}  // namespace weir::hipsim
