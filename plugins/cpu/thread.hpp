// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include "object.hpp"

namespace weir::cpu {

/// Starts a detached thread that runs `body(context)`. The thread blocks signals, which go to the program's
/// threads.
inline void start_thread(const char* name, void (*body)(void*), void* context) {
  struct Start {
    void (*body)(void*);
    void* context;
  };
  auto* start = new Start{body, context};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(
      &thread, nullptr,
      [](void* opaque) -> void* {
        Start run = *static_cast<Start*>(opaque);
        delete static_cast<Start*>(opaque);
        run.body(run.context);
        return nullptr;
      },
      start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    delete start;
    fail_system(error, "the CPU driver cannot start a thread (%s)", name);
  }
  pthread_setname_np(thread, name);
  pthread_detach(thread);
}

}  // namespace weir::cpu
