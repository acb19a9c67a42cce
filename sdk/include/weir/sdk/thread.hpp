// SPDX-License-Identifier: Apache-2.0
// Threads that a library starts in its host program. They block all signals, so that the program's handlers
// run on the program's threads only, and compute in the default floating-point environment.
//
//   std::thread worker = sdk::start_thread("my-worker", [this] { serve(); });
#pragma once

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "floating_point.hpp"

namespace weir::sdk {

/// Blocks all signals of this thread until its destructor restores the mask. A thread that is started
/// meanwhile blocks them for its whole life.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Starts a thread that calls `body`, with all signals blocked and the default floating-point environment.
/// `name` has up to 15 characters. Throws std::system_error that names the thread, and std::bad_alloc.
template <class Body>
std::thread start_thread(const char* name, Body&& body) try {
  const SignalsBlocked blocked;
  const DefaultFloatingPoint floating_point;  // a thread begins with that of the one that starts it
  std::thread thread(std::forward<Body>(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
} catch (const std::system_error& error) {
  throw std::system_error(error.code(), "cannot start the thread " + std::string(name));
}

}  // namespace weir::sdk
