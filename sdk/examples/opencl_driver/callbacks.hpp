// SPDX-License-Identifier: Apache-2.0
// Host callbacks. OpenCL's own callbacks come on a thread of the implementation, which must not be held up
// and lets the queue go on meanwhile. So they only hand the call over to a thread of the device's own, and
// the queue stands behind an event that this thread sets when the call has returned.
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
  /// One call, until it has returned.
  struct Call {
    Callbacks* owner;
    weir_host_callback function;
    void* user;
    Owned<cl_event> held;  ///< what the queue waits for; set when the call has returned
    Call* next = nullptr;
  };

  /// Makes `call` when `reached` is. Throws when OpenCL refuses; the queue then goes on without it.
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
  Call* first_ = nullptr;  // those whose time has come, in that order
  Call** end_ = &first_;
  std::size_t pending_ = 0;  // handed to OpenCL, and not returned yet
  bool stopping_ = false;
};

}  // namespace opencl
