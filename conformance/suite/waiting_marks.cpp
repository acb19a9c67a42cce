// SPDX-License-Identifier: Apache-2.0
// Level 4: a wait of the host refers to the mark that an event had when the wait began.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// A thread in event_synchronize.
class WaitingThread {
 public:
  explicit WaitingThread(weir_event event) : state_(std::make_shared<State>()) {
    // A wait that never ends must not keep the test from ending.
    std::thread([state = state_, event, &driver = quick_table()] {
      weir_status status = new_status();
      pthread_getcpuclockid(pthread_self(), &state->clock);
      state->thread = gettid();
      state->result = driver.event_synchronize(event, &status);
      state->returned = true;
    }).detach();
  }

  bool returned() const { return state_->returned; }
  weir_result result() const { return state_->result; }

  /// Returns when the thread certainly waits: it sleeps, or it has used so much time that it polls. Nothing
  /// else calls the driver meanwhile, so that it cannot sleep for a lock.
  bool waits() const {
    return eventually([&] { return state_->thread != 0; }) &&
           eventually([&] { return returned() || sleeps() || polls(); }) && !returned();
  }

 private:
  struct State {
    std::atomic<pid_t> thread{0};
    clockid_t clock{};
    std::atomic<weir_result> result{WEIR_OK};
    std::atomic<bool> returned{false};
  };

  bool sleeps() const {
    std::ifstream file("/proc/self/task/" + std::to_string(state_->thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');  // the state follows it
    return name_end != std::string::npos && line.compare(name_end, 3, ") S") == 0;
  }
  bool polls() const {
    timespec used{};
    constexpr long enough = 20'000'000;
    return clock_gettime(state_->clock, &used) == 0 && (used.tv_sec > 0 || used.tv_nsec > enough);
  }

  std::shared_ptr<State> state_;
};

constexpr const char* advice =
    ". driver.h: a record during the call does not change the mark for which it waits. Look first at when "
    "event_synchronize reads the mark";

void expect_wait_to_outlast_a_mark_of_another_stream() {
  const Stream held, free;
  Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  const WaitingThread thread(event);
  ASSERT_TRUE(thread.waits()) << "event_synchronize returned while the stream was held";
  event.record(free);
  free.synchronize();
  EXPECT_TRUE(never([&] { return thread.returned(); }))
      << "a thread waited in event_synchronize for a mark of a held stream. The event was recorded on "
         "another stream, which reached the new mark, and the thread went on while the first stream was held"
      << advice;
  gate.open();
  if (!eventually([&] { return thread.returned(); })) {
    event.release();  // in use by the thread
    FAIL() << "event_synchronize did not return after its mark was reached";
  }
  EXPECT_EQ(thread.result(), WEIR_OK);
}

void expect_wait_to_end_before_a_later_mark() {
  const Stream held;
  Event event;
  Gate first, second;
  first.hold(held);
  event.record(held);
  const WaitingThread thread(event);
  ASSERT_TRUE(thread.waits()) << "event_synchronize returned while the stream was held";
  second.hold(held);
  event.record(held);
  held.flush();
  first.open();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience()) / 2;
  while (!thread.returned() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_TRUE(thread.returned())
      << "a thread waited in event_synchronize for a mark of a held stream. The event was recorded there "
         "again after more held work, the first mark was reached, and the thread did not go on"
      << advice;
  second.open();
  if (!eventually([&] { return thread.returned(); })) {
    event.release();
    FAIL() << "event_synchronize did not return after both marks were reached";
  }
}

WEIR_REQUIREMENT(
    4, 85, Events, WaitsKeepTheirMark,
    "A record while a thread waits in event_synchronize does not change the wait: it ends with the mark that "
    "the event had, not earlier with a mark of another stream and not later with one of the same stream.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  expect_wait_to_end_before_a_later_mark();
  if (has(WEIR_CAP_CONCURRENT_STREAMS) && !HasFailure()) expect_wait_to_outlast_a_mark_of_another_stream();
}

}  // namespace
}  // namespace weir::conformance
