// SPDX-License-Identifier: Apache-2.0
// Host callbacks. OpenCL calls its callbacks on a thread of the implementation, which must not block, and
// does not wait for them before it continues the queue. They therefore only pass the call to a thread of the
// device. The queue waits for an event, which that thread sets when the call has returned.
#pragma once

#include <weir/driver.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "opencl.hpp"

namespace opencl {

class Callbacks {
 public:
  /// A submitted call that has not returned yet.
  struct Call {
    Callbacks* owner;
    weir_host_callback function;
    void* user;
    Owned<cl_event> held;  ///< the queue waits for it; set when the call has returned
    Call* next = nullptr;
  };

  /// Runs `call` after `reached`. Throws if OpenCL refuses; the queue then continues without it.
  void call_after(const Owned<cl_event>& reached, std::unique_ptr<Call> call);

  /// Starts the thread if it does not run yet.
  void start();
  /// Waits for all calls, then ends the thread.
  void stop();

 private:
  static void CL_CALLBACK arrive(cl_event, cl_int, void* user);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  Call* first_ = nullptr;  // calls that are due, in their order
  Call** end_ = &first_;
  std::size_t pending_ = 0;  // passed to OpenCL, and not returned yet
  bool stopping_ = false;
};

}  // namespace opencl
