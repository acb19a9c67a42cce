// SPDX-License-Identifier: Apache-2.0
#include "callbacks.hpp"

namespace opencl {

void Callbacks::start() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread(&Callbacks::run, this);
}

void Callbacks::call_after(const Owned<cl_event>& reached, std::unique_ptr<Call> call) {
  {
    std::lock_guard lock(mutex_);
    ++pending_;
  }
  const cl_int code = api.clSetEventCallback(reached.get(), CL_COMPLETE, &arrive, call.get());
  if (code == CL_SUCCESS) {
    call.release();  // `run` has it
    return;
  }
  api.clSetUserEventStatus(call->held.get(), CL_COMPLETE);
  {
    std::lock_guard lock(mutex_);
    --pending_;
  }
  changed_.notify_all();
  raise(code, "ask to be told of an event");
}

// On a thread of the implementation. A stream that failed comes here too: whoever waits for the call must not
// wait for ever.
void CL_CALLBACK Callbacks::arrive(cl_event, cl_int, void* user) {
  auto* call = static_cast<Call*>(user);
  Callbacks& self = *call->owner;
  // Under the lock to the end: after it, `stop` may take the object away.
  std::lock_guard lock(self.mutex_);
  *self.end_ = call;
  self.end_ = &call->next;
  self.changed_.notify_all();
}

void Callbacks::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return first_ || (stopping_ && pending_ == 0); });
    if (!first_) return;
    std::unique_ptr<Call> call(first_);
    first_ = call->next;
    if (!first_) end_ = &first_;
    lock.unlock();
    call->function(call->user);
    api.clSetUserEventStatus(call->held.get(), CL_COMPLETE);
    call.reset();
    lock.lock();
    --pending_;
  }
}

void Callbacks::stop() {
  std::thread ending;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    ending = std::move(thread_);
  }
  changed_.notify_all();
  if (ending.joinable()) ending.join();
  stopping_ = false;
}

}  // namespace opencl
