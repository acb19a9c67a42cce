// SPDX-License-Identifier: Apache-2.0
#include "callbacks.hpp"

#include <weir/sdk/floating_point.hpp>

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
    call.release();  // owned by `run` now
    return;
  }
  api.clSetUserEventStatus(call->held.get(), CL_COMPLETE);
  {
    std::lock_guard lock(mutex_);
    --pending_;
  }
  changed_.notify_all();
  raise(code, "set an event's callback");
}

// Runs on a thread of the implementation. Also called for failed streams, because the stream's queue waits
// for the call and must not wait forever.
void CL_CALLBACK Callbacks::arrive(cl_event, cl_int, void* user) {
  auto* call = static_cast<Call*>(user);
  Callbacks& self = *call->owner;
  // Locked to the end: once unlocked, `stop` may let the object be destroyed.
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
    {
      const weir::sdk::DefaultFloatingPoint floating_point;  // whatever earlier callbacks left
      call->function(call->user);
    }
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
