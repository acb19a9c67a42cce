// SPDX-License-Identifier: Apache-2.0
// Two threads that meet inside the driver, at a point that the test chooses.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string_view>
#include <thread>
#include <weir/stream.hpp>

#include "runtime/devices/device_state.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {

/// Stops `first`, on another thread, before its n-th call (from 1) of the driver's `slot`, and runs `second`
/// on a third thread meanwhile. Returns whether `second` ended while `first` was stopped. If `second` waits
/// for the submission lock of `stream` instead, `first` continues and both end. The device must come from
/// Watch::open().
template <class First, class Second>
bool comes_between(const StreamRef& stream, std::string_view slot, int n, First&& first, Second&& second) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(60);
  static thread_local bool is_first = false;
  std::atomic<bool> stopped{false}, through{false}, ended{false}, between{false};
  std::atomic<int> calls{0};
  Watch::get().before(slot, [&, state = stream.state()] {
    if (!is_first || ++calls != n) return;
    stopped = true;
    while (!ended && !state->submission_lock.has_waiters()) {
      if (Clock::now() > limit) {
        ADD_FAILURE() << "the second thread neither ends nor waits for the submission lock";
        break;
      }
      std::this_thread::yield();
    }
    between = through.load();
  });
  std::future<void> one = std::async(std::launch::async, [&] {
    is_first = true;
    first();
  });
  while (!stopped && one.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    std::this_thread::yield();
  EXPECT_TRUE(stopped) << "the first thread makes no call number " << n << " of " << slot;
  std::future<void> two = std::async(std::launch::async, [&] {
    try {
      second();
      through = true;
    } catch (...) {
      ended = true;
      throw;
    }
    ended = true;
  });
  one.wait();
  two.wait();
  Watch::get().before(slot, nullptr);
  one.get();
  two.get();
  return between;
}

}  // namespace weir::test
