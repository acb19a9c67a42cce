// SPDX-License-Identifier: Apache-2.0
// Runs work on several threads at the same time.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "objects.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {

/// Runs `work(i)` on `count` threads that begin at the same time and are interrupted at any instruction.
template <class Work>
void at_once(int count, const Work& work) {
  std::barrier begin(count);
  Interruptions interruptions;
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const Interruptions::Here here(interruptions);
      begin.arrive_and_wait();
      work(i);
    });
}

inline Race new_race() {
  return Race(std::chrono::milliseconds(judged().thorough ? 2000 : 250));
}

/// One more than a small machine has cores: when one is interrupted, others run.
inline constexpr int racers = 3;

/// Creates and destroys objects on several threads at once; `create` and `destroy` return a result.
template <class Handle, class Create, class Destroy>
void create_at_once(const char* what, const Create& create, const Destroy& destroy) {
  std::mutex mutex;
  std::set<Handle> in_use;
  int twice = 0;
  std::atomic<int> failed{0};
  const Race race = new_race();
  at_once(racers, [&](int) {
    weir_status status = new_status();
    for (int round = 0; failed == 0 && race.goes_on(); ++round) {
      Handle made[32] = {};
      for (Handle& one : made)
        if (create(&one, &status) != WEIR_OK || !one) ++failed, one = nullptr;
      // Not in every round: it takes longer than the calls.
      if (round % 8 == 0) {
        {
          const std::lock_guard lock(mutex);
          for (const Handle one : made) twice += one && !in_use.insert(one).second;
        }
        const std::lock_guard lock(mutex);
        for (const Handle one : made) in_use.erase(one);
      }
      for (const Handle one : made)
        if (one && destroy(one, &status) != WEIR_OK) ++failed;
    }
  });
  EXPECT_EQ(twice, 0) << racers << " threads created and destroyed " << what
                      << " at the same time; so often, a handle was given "
                      << "out that another thread had not destroyed. driver.h: every function may be called "
                         "from several threads at "
                      << "once. Look first at the lock of the list that new objects are taken from";
  EXPECT_EQ(failed, 0)
      << "of the calls that created or destroyed " << what << " on " << racers
      << " threads at the same time failed. Look first at the lock of the driver's lists of objects "
      << "and at its counts of memory";
}

}  // namespace weir::conformance
