// SPDX-License-Identifier: Apache-2.0
// Level 2: a driver that blocks in one call lets others proceed, and all waiting threads continue.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// Waits until threads are in `calls` calls of `slot`, and for a moment in which they fall asleep there.
void let_them_wait(const std::atomic<int>& calling, int calls) {
  while (calling < calls) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

WEIR_REQUIREMENT(
    2, 77, Events, AllWaitingThreadsGoOn,
    "All threads that wait in event_synchronize for one event, and in stream_synchronize for one stream, "
    "go on when it is reached.") {
  constexpr int each = 40;
  struct Waiting {
    std::atomic<int> calling{0}, of_event{0}, of_stream{0};
  };
  // Threads of a driver that is wrong never return, so that they must not use this function's variables.
  const auto state = std::make_shared<Waiting>();
  Stream held;
  Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  device();
  for (int i = 0; i < 2 * each; ++i)
    std::thread([state, i, on = weir_stream(held), mark = weir_event(event)] {
      ++state->calling;
      if (i % 2) {
        if (result_of(table().event_synchronize, mark) == WEIR_OK) ++state->of_event;
      } else {
        if (result_of(table().stream_synchronize, on) == WEIR_OK) ++state->of_stream;
      }
    }).detach();
  let_them_wait(state->calling, 2 * each);
  EXPECT_EQ(state->of_event + state->of_stream, 0) << "a thread went on while the stream was held";
  gate.open();
  if (eventually([&] { return state->of_event == each && state->of_stream == each; })) return;
  ADD_FAILURE() << each << " threads waited in event_synchronize for an event of a held stream and " << each
                << " in stream_synchronize for the stream. It went on, and only " << state->of_event
                << " and " << state->of_stream
                << " of them returned WEIR_OK. Look first at how many waiting threads are woken when a "
                << "mark is reached: notify_all, not notify_one";
  held.release();  // in use by the threads
  event.release();
}

/// Sends signals whose handler does nothing. The system does not restart calls that they interrupt.
class Signals {
 public:
  Signals() {
    struct sigaction ours {};
    ours.sa_handler = [](int) {};
    sigaction(SIGUSR1, &ours, &before_);
  }
  ~Signals() { sigaction(SIGUSR1, &before_, nullptr); }
  static void send(std::jthread& thread) { pthread_kill(thread.native_handle(), SIGUSR1); }

 private:
  struct sigaction before_ {};
};

WEIR_REQUIREMENT(2, 95, Streams, SignalsEndNoWait,
                 "A thread that takes signals in event_synchronize or stream_synchronize goes on waiting.") {
  const Stream held;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  std::atomic<int> calling{0}, returned{0};
  std::atomic<weir_result> results[2]{};
  {
    const Signals signals;
    std::jthread of_event([&] {
      ++calling;
      results[0] = result_of(table().event_synchronize, weir_event(event));
      ++returned;
    });
    std::jthread of_stream([&] {
      ++calling;
      results[1] = result_of(table().stream_synchronize, weir_stream(held));
      ++returned;
    });
    let_them_wait(calling, 2);
    for (int i = 0; i < 5 && returned == 0; ++i) {
      Signals::send(of_event);
      Signals::send(of_stream);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(returned, 0)
        << "event_synchronize or stream_synchronize returned while the stream was held, after a "
           "signal to its thread. driver.h: both wait until the work is complete. Look first at "
           "system calls that end with EINTR";
    gate.open();
  }
  EXPECT_EQ(results[0], WEIR_OK) << "event_synchronize";
  EXPECT_EQ(results[1], WEIR_OK) << "stream_synchronize";
}

WEIR_REQUIREMENT(
    2, 80, Streams, CallsProceedWhileThreadsWait,
    "While threads wait in event_synchronize and in stream_synchronize, calls for other streams, events "
    "and memory return, also of these two functions.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Memory memory(64), other(64);
  const Stream held, free;
  const Event event, reached;
  // Created first: stream_create may wait for work.
  Gate gate;
  gate.hold(held);
  event.record(held);
  std::atomic<int> calling{0};
  std::jthread in_event([&] {
    ++calling;
    (void)result_of(table().event_synchronize, weir_event(event));
  });
  std::jthread in_stream([&] {
    ++calling;
    (void)result_of(table().stream_synchronize, weir_stream(held));
  });
  let_them_wait(calling, 2);
  // A call that waits for one of the two threads lets the gate open late, which is a failure.
  fill<std::uint8_t>(free, memory, 0, 64, 1);
  reached.record(free);
  reached.synchronize();
  free.synchronize();
  (void)event.done();
  (void)held.done();
  held.flush();
  fill<std::uint8_t>(held, other, 0, 64, 1);
  {
    const Event made;
    made.record(free);
    made.synchronize();
    free.wait(made);
  }
  std::uint64_t unused = 0, total = 0;
  call(table().device_get_memory, device(), &unused, &total);
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  call(table().device_close, opened);
  (void)memory.info();
  free.synchronize();
  gate.open();
  held.synchronize();  // its fill uses memory of this function
}

}  // namespace
}  // namespace weir::conformance
