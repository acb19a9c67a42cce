// SPDX-License-Identifier: Apache-2.0
// Calls of threads that are interrupted by signals, or that end after the first call.
#include <signal.h>
#include <sys/time.h>

#include <exception>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

/// Interrupts system calls of this process every 100 microseconds, as a program's timer does: the handler is
/// installed without SA_RESTART.
class Timer {
 public:
  Timer() {
    // It stays installed: a signal that is still pending later would end the process.
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    set(100);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { set(0); }

 private:
  static void set(suseconds_t microseconds) {
    const itimerval times{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &times, nullptr);
  }
};

WEIR_REQUIREMENT(3, 87, Threads, SignalsDisturbNoCalls,
                 "Calls succeed while signals interrupt their system calls, also those that wait for work.") {
  (void)ready_kernel("iota");
  const std::uint64_t size = 1u << 20;
  const Bytes bytes = pattern(size);
  constexpr const char* advice =
      " while a timer's signals interrupted the thread. The program's handler is installed without "
      "SA_RESTART. Look first at system calls that return EINTR";
  const Timer timer;
  try {
    for (int round = 0; round < 10 && !HasFailure(); ++round) {
      const Memory memory(size), out(8 * 64);
      const Stream stream;
      const Event event;
      if (has(WEIR_CAP_HOST_CALLBACK)) {
        const weir_host_callback spend = [](void*) {
          const auto begun = std::chrono::steady_clock::now();
          while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(1))
            std::this_thread::yield();
        };
        call(table().stream_host_callback, weir_stream(stream), spend, static_cast<void*>(nullptr));
        event.record(stream);
        event.synchronize();
        ASSERT_TRUE(event.done()) << "event_synchronize returned before its event was reached" << advice;
        call(table().stream_host_callback, weir_stream(stream), spend, static_cast<void*>(nullptr));
        event.record(stream);
        stream.synchronize();
        ASSERT_TRUE(event.done()) << "stream_synchronize returned before the stream's work ended" << advice;
      }
      memory.write(bytes);
      const Kernel iota("iota");
      iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{round}));
      stream.synchronize();
      ASSERT_EQ(out.values<std::int64_t>()[63], 63 + round) << "a kernel's result" << advice;
      ASSERT_TRUE(same_bytes(memory.read(), bytes)) << "copies to the device and back" << advice;
      if (!has(WEIR_CAP_GRAPHS)) continue;
      GraphNodes nodes;
      nodes.fill<std::uint8_t>(memory, 0, 64, 5);
      const Graph graph = nodes.make();
      launch(graph, stream);
      stream.synchronize();
    }
  } catch (const CallFailed& failed) {
    ADD_FAILURE() << failed.what() << advice;
  }
}

WEIR_REQUIREMENT(1, 66, FirstCall, TheThreadThatOpensTheDeviceMayEnd,
                 "A device that was opened first by a thread which has ended stays usable.") {
  needs_device();
  std::exception_ptr failure;
  std::thread([&] {
    try {
      (void)device();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for what the thread's end may stop
  try {
    const Bytes bytes = pattern(4096);
    const Memory memory(4096);
    memory.write(bytes);
    EXPECT_TRUE(same_bytes(memory.read(), bytes));
  } catch (const CallFailed& failed) {
    ADD_FAILURE() << "the thread that opened the device first has ended. driver.h: any thread may call any "
                     "function. Look first at what belongs to that thread. "
                  << failed.what();
  }
}

}  // namespace
}  // namespace weir::conformance
