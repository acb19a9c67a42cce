// SPDX-License-Identifier: Apache-2.0
#include "process_tables.hpp"

#include <pthread.h>

#include <array>

namespace weir::detail {
namespace {

constinit std::array<std::mutex, process_tables> mutexes{};

void lock_all() noexcept {
  for (std::mutex& each : mutexes) each.lock();
}

void unlock_all() noexcept {
  for (auto each = mutexes.rbegin(); each != mutexes.rend(); ++each) each->unlock();
}

// When this library is loaded: later there may be no memory for it.
[[maybe_unused]] const int registered = pthread_atfork(lock_all, unlock_all, unlock_all);

}  // namespace

std::mutex& mutex_of(ProcessTable table) noexcept {
  return mutexes[static_cast<std::size_t>(table)];
}

}  // namespace weir::detail
