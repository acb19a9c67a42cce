// SPDX-License-Identifier: Apache-2.0
// Replaces pthread_mutex_lock for the test program and all its libraries.
#include "support/count_locks.hpp"

#include <dlfcn.h>
#include <pthread.h>

namespace {
thread_local std::uint64_t locks = 0;
}

std::uint64_t weir::test::locks_of_this_thread() noexcept {
  return locks;
}

#ifndef WEIR_SANITIZED
extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
#endif
