// SPDX-License-Identifier: Apache-2.0
// A driver and its process: children made by fork, and the last closing of a device.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

/// Memory that a child shares with this process: the name of the call that it is in.
class Shared {
 public:
  Shared()
      : text_(static_cast<char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(text_, size); }
  char* text() const { return text_; }

 private:
  static constexpr std::size_t size = 4096;
  char* text_;
};

/// The status with which a child ends; none if it still runs when `may_run` returns false, and is killed.
std::optional<int> end_of(pid_t child, const std::function<bool()>& may_run) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && may_run())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (ended != 0) return status;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return std::nullopt;
}

std::string signal_of(int status) {
  return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

/// Runs `calls` in a child made by fork, which must end soon. `during` says what the parent did. `calls` gets
/// a function that names the call that comes next; the results of the calls do not matter. A name that begins
/// with ! is that of a function that returned WEIR_OK and must not; nothing may be called after it. The child
/// then calls exit(), or _exit() without `exits`.
void run_in_a_child(const char* during,
                    const std::function<void(const std::function<void(const char*)>& calling)>& calls,
                    bool exits = true) {
  const Shared now;
  const pid_t child = fork();
  if (child < 0) throw Skipped(std::string("this process cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    calls([&](const char* name) { std::strcpy(now.text(), name); });
    if (*now.text() == '!') _exit(1);
    if (!exits) _exit(0);
    std::strcpy(now.text(), "exit");
    std::exit(0);
  }
  const auto limit = std::chrono::steady_clock::now() + patience() / 2.0;
  const std::optional<int> status = end_of(child, [&] { return std::chrono::steady_clock::now() < limit; });
  if (!status) {
    ADD_FAILURE()
        << "a child that was forked " << during << " hung in " << now.text()
        << "; driver.h: in such a child, functions return without waiting for work and the child can "
           "exit. Look first at what "
        << now.text() << " waits for, and at pthread_atfork";
  } else if (WIFSIGNALED(*status)) {
    ADD_FAILURE() << "a child that was forked " << during << " was ended by " << signal_of(*status) << " in "
                  << now.text();
  } else if (*now.text() == '!') {
    ADD_FAILURE() << "in a child that was forked " << during << ", " << now.text() + 1
                  << " returned WEIR_OK, although the parent's work had not run; driver.h: in such a child, "
                     "every function returns with an error if it cannot work there";
  }
}

WEIR_REQUIREMENT(
    2, 70, Process, AForkedChildNeitherHangsNorCrashes,
    "In a child made by fork while work is held, functions of the table return, the child exits, "
    "and the parent goes on.") {
  Memory memory(64), other(64);
  Stream stream, destroyed;
  Event event, end;
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  event.record(stream);
  destroyed.wait(event);  // still has work when it is destroyed
  fill<std::uint8_t>(destroyed, other, 0, 64, 2);
  end.record(destroyed);
  destroyed.destroy();
  run_in_a_child("while work was held", [&](const auto& calling) {
    weir_status status = new_status();
    std::uint32_t count = 0;
    weir_device opened = nullptr;
    weir_stream made = nullptr;
    weir_event created = nullptr;
    weir_allocation allocated = nullptr;
    weir_memory_info filled{};
    filled.struct_size = sizeof filled;
    std::uint64_t free = 0, total = 0;
    const weir_memory_options options = memory_options(64);
    const std::uint8_t byte = 1;
    std::uint8_t host[64];
    calling("device_count"), (void)table().device_count(&count, &status);
    calling("device_open"), (void)table().device_open(judged().device, &opened, &status);
    calling("device_get_memory"), (void)table().device_get_memory(device(), &free, &total, &status);
    calling("stream_create"), (void)table().stream_create(device(), nullptr, &made, &status);
    calling("event_create"), (void)table().event_create(device(), WEIR_EVENT_PLAIN, &created, &status);
    calling("stream_query"), (void)table().stream_query(stream, &status);
    calling("event_query"), (void)table().event_query(event, &status);
    calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &allocated, &status);
    calling("memory_get_info"), (void)table().memory_get_info(memory, &filled, &status);
    calling("fill"), (void)table().fill(stream, memory, 0, 64, &byte, 1, &status);
    calling("copy_to_host"), (void)table().copy_to_host(stream, host, memory, 0, 64, &status);
    calling("event_record"), (void)table().event_record(event, stream, &status);
    calling("stream_wait_event"), (void)table().stream_wait_event(stream, event, &status);
    calling("stream_flush"), (void)table().stream_flush(stream, &status);
    calling("stream_synchronize");
    if (table().stream_synchronize(stream, &status) == WEIR_OK && gate) return calling("!stream_synchronize");
    calling("event_synchronize");
    if (table().event_synchronize(event, &status) == WEIR_OK && gate) return calling("!event_synchronize");
    calling("event_destroy"), (void)table().event_destroy(event, &status);
    calling("stream_destroy"), (void)table().stream_destroy(stream, &status);
    calling("memory_free"), (void)table().memory_free(memory, &status);
    calling("device_close"), (void)table().device_close(device(), &status);
    calling("device_close"), (void)table().device_close(device(), &status);
  });
  if (gate) gate->open();
  fill<std::uint8_t>(stream, memory, 0, 64, 3);
  stream.synchronize();
  end.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 3))) << "in the parent, after the child";
}

WEIR_REQUIREMENT(2, 26, Process, AForkedChildNeedsNoLockOfOtherThreads,
                 "In a child made by fork while other threads call the driver, functions of the table "
                 "return.") {
  const Memory memory(64), other(64);
  const Stream stream, shared;
  // All threads use the same functions, so that one often holds a lock for which the others wait.
  enum Use { streams, events, allocations, submissions, uses };
  std::atomic<int> use{streams};
  const auto use_the_driver = [&](const std::stop_token& stopped, Interruptions& interruptions) {
    const Interruptions::Here here(interruptions);
    weir_status status = new_status();
    const weir_memory_options options = memory_options(64);
    const std::uint8_t byte = 1;
    while (!stopped.stop_requested()) {
      weir_stream made = nullptr;
      weir_event event = nullptr;
      weir_allocation allocated = nullptr;
      if (use == streams && quick_table().stream_create(device(), nullptr, &made, &status) == WEIR_OK)
        (void)quick_table().stream_destroy(made, &status);
      if (use == events && quick_table().event_create(device(), WEIR_EVENT_PLAIN, &event, &status) == WEIR_OK)
        (void)quick_table().event_destroy(event, &status);
      if (use == allocations &&
          quick_table().memory_allocate(device(), &options, &allocated, &status) == WEIR_OK)
        (void)quick_table().memory_free(allocated, &status);
      if (use == submissions && quick_table().fill(shared, other, 0, 64, &byte, 1, &status) == WEIR_OK)
        (void)quick_table().stream_synchronize(shared, &status);
    }
  };
  Interruptions interruptions;
  std::jthread others[4];
  for (std::jthread& thread : others)
    thread = std::jthread([&](const std::stop_token& stopped) { use_the_driver(stopped, interruptions); });
  for (int round = 0; round < (judged().thorough ? 1000 : 200) && !HasFailure(); ++round) {
    use = round % uses;
    run_in_a_child(
        "while other threads called the driver",
        [&](const auto& calling) {
          weir_status status = new_status();
          weir_stream made = nullptr;
          weir_event created = nullptr;
          weir_allocation allocated = nullptr;
          const weir_memory_options options = memory_options(64);
          const std::uint8_t byte = 1;
          std::uint64_t free = 0, total = 0;
          calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &allocated, &status);
          calling("stream_create"), (void)table().stream_create(device(), nullptr, &made, &status);
          calling("event_create"), (void)table().event_create(device(), WEIR_EVENT_PLAIN, &created, &status);
          calling("device_get_memory"), (void)table().device_get_memory(device(), &free, &total, &status);
          calling("fill"), (void)table().fill(stream, memory, 0, 64, &byte, 1, &status);
          calling("stream_query"), (void)table().stream_query(stream, &status);
          calling("stream_synchronize"), (void)table().stream_synchronize(stream, &status);
          if (created) calling("event_destroy"), (void)table().event_destroy(created, &status);
          if (made) calling("stream_destroy"), (void)table().stream_destroy(made, &status);
          if (allocated) calling("memory_free"), (void)table().memory_free(allocated, &status);
        },
        false);  // C2.70 and C5.34 exit; some vendors' exit handlers need threads
  }
}

WEIR_REQUIREMENT(
    5, 34, Process, AForkedChildDoesNotWaitForGraphs,
    "In a child made by fork while a graph is held, the functions of graphs return, the child exits, and the "
    "graph goes on in the parent.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 5);
  Graph graph = nodes.make();
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  launch(graph, stream);
  const auto given = nodes.pointers();
  run_in_a_child("while a graph was held", [&](const auto& calling) {
    weir_status status = new_status();
    weir_graph made = nullptr;
    calling("graph_create"), (void)table().graph_create(device(), nodes.size(), given.data(), &made, &status);
    calling("graph_update"), (void)table().graph_update(graph, 0, given[0], &status);
    calling("graph_launch"), (void)table().graph_launch(graph, stream, &status);
    calling("graph_destroy"), (void)table().graph_destroy(graph, &status);
  });
  if (gate) gate->open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 5))) << "in the parent, after the child";
}

/// Nothing else may have opened the device. The last close of it must wait for a callback of a destroyed
/// stream that waits for an event of another device.
void expect_close_waits_for_work_behind_another_device() {
  static std::atomic<bool> released{false}, ran{false};
  const weir_host_callback hold = [](void*) {
    const auto limit = std::chrono::steady_clock::now() + patience();
    while (!released && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const weir_host_callback end = [](void*) { ran = true; };
  const auto none = static_cast<void*>(nullptr);
  weir_device opened = nullptr, other = nullptr;
  call(table().device_open, judged().device, &opened);
  call(table().device_open, (judged().device + 1) % device_count(), &other);
  {
    const Stream held(other);
    const Event event(WEIR_EVENT_PLAIN, other);
    Stream waiting(opened);
    call(table().stream_host_callback, weir_stream(held), hold, none);
    event.record(held);
    held.flush();
    const bool waits =
        result_of(table().stream_wait_event, weir_stream(waiting), weir_event(event)) == WEIR_OK;
    if (waits) call(table().stream_host_callback, weir_stream(waiting), end, none);
    waiting.flush();
    // The stream has time to find that it must wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    waiting.destroy();
    std::atomic<bool> closed{false};
    std::jthread closing([&] {
      EXPECT_EQ(result_of(table().device_close, opened), WEIR_OK) << "the last device_close";
      closed = true;
    });
    EXPECT_TRUE(!waits || never([&] { return closed.load(); }))
        << "a stream waited for an event of a held stream of another device, with a host callback behind the "
           "wait, and was destroyed. The last device_close of its device returned before the callback had "
           "run. "
           "driver.h: the last call blocks until the device's work is complete. Look first at which streams "
           "device_close counts";
    released = true;
    closing.join();
    EXPECT_TRUE(!waits || eventually([] { return ran.load(); }))
        << "the callback behind the wait did not run";
    held.synchronize();
  }
  call(table().device_close, other);
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(
    2, 71, FirstCall, TheLastCloseWaits,
    "The last device_close returns after the work of streams that were destroyed while they were "
    "busy, also of one that waits for another device.") {
  needs_unopened(WEIR_CAP_HOST_CALLBACK);
  static std::atomic<int> ended{0};
  constexpr int streams = 8;
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  for (int i = 0; i < streams; ++i) {
    weir_stream stream = nullptr;
    call(table().stream_create, opened, static_cast<const weir_stream_options*>(nullptr), &stream);
    const weir_host_callback slow = [](void*) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ended;
    };
    call(table().stream_host_callback, stream, slow, static_cast<void*>(nullptr));
    call(table().stream_destroy, stream);
  }
  call(table().device_close, opened);
  EXPECT_EQ(ended, streams)
      << streams << " streams were destroyed, each with a host callback of 20 ms; when the last device_close "
      << "returned, " << ended
      << " callbacks had ended. driver.h: the last call blocks until the device's work "
      << "is complete. Look first at what device_close waits for";
  // The callbacks use this process.
  for (int i = 0; i < 1000 && ended < streams; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (device_count() > 1 && !HasFailure()) expect_close_waits_for_work_behind_another_device();
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(0, 56, FirstCall, CanBeOpenedAgainAfterItsLastClose,
                 "A device whose last opening was closed can be opened and used again, as often as wanted.") {
  needs_device();
  constexpr const char* advice =
      ". No other opening was left. driver.h: device_open opens the device and counts. Look first at what "
      "device_close ends and device_open does not begin again";
  for (int round = 0; round < 4; ++round) {
    weir_status status = new_status();
    weir_device opened = nullptr;
    weir_stream stream = nullptr;
    std::uint64_t free = 0, total = 0;
    ASSERT_EQ(table().device_open(judged().device, &opened, &status), WEIR_OK)
        << "device_open after " << round << " rounds of device_open and device_close: " << status.message
        << advice;
    ASSERT_EQ(table().device_get_memory(opened, &free, &total, &status), WEIR_OK)
        << "device_get_memory after " << round
        << " rounds of device_open and device_close: " << status.message << advice;
    ASSERT_EQ(table().stream_create(opened, nullptr, &stream, &status), WEIR_OK)
        << "stream_create after " << round << " rounds of device_open and device_close: " << status.message
        << advice;
    call(table().stream_synchronize, stream);
    call(table().stream_destroy, stream);
    call(table().device_close, opened);
  }
}

// Runs in a process of its own, in which the device was never opened.
WEIR_REQUIREMENT(
    0, 58, FirstCall, AreDescribedWithoutAnOpening,
    "device_get_info describes a device that was not opened yet, and in the same way one whose last "
    "opening was closed.") {
  needs_device();
  const auto described = [](const char* when) {
    weir_device_info filled{};
    filled.struct_size = sizeof filled;
    weir_status status = new_status();
    const weir_result result = table().device_get_info(judged().device, &filled, &status);
    EXPECT_EQ(result_name(result), "WEIR_OK")
        << "device_get_info " << when << ": " << status.message
        << ". It takes an index, so that hosts describe devices that they do not open";
    return filled;
  };
  const weir_device_info before = described("of a device that was never opened");
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  call(table().device_close, opened);
  const weir_device_info after = described("of a device whose last opening was closed");
  EXPECT_STREQ(before.name, after.name);
  EXPECT_EQ(before.capabilities, after.capabilities);
  EXPECT_EQ(before.max_block_threads, after.max_block_threads);
}

// Runs in a process of its own, in which no other opening keeps the second device open.
WEIR_REQUIREMENT(2, 76, FirstCall, TheLastCloseLeavesOutOtherDevices,
                 "The last device_close of one device returns while work of another device is held.") {
  needs_device();
  if (device_count() < 2) throw Skipped("there is no second device");
  needs(WEIR_CAP_HOST_CALLBACK);
  const std::uint32_t second = judged().device == 0 ? 1 : 0;
  weir_device opened = nullptr;
  call(table().device_open, second, &opened);
  const Event end;
  Stream held;
  Gate gate;
  gate.hold(held);
  end.record(held);
  held.destroy();  // the device counts it as unfinished
  {
    const Stream other(opened);
    other.synchronize();
  }
  call(table().device_close, opened);  // a call that waits lets the gate open late, which is a failure
  EXPECT_FALSE(end.done());
  gate.open();
  end.synchronize();
}

/// Forks a child that calls `begin`, which keeps the device busy for longer than the time limit and returns
/// whether it could, and then exit(). This process must not have used the driver, so that the child can.
void expect_prompt_exit(const char* busy, const std::function<bool()>& begin) {
  const Shared now;
  auto& began = *reinterpret_cast<std::atomic<std::int64_t>*>(now.text());
  const auto milliseconds = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  constexpr int cannot = 77;
  const pid_t child = fork();
  if (child < 0) throw Skipped(std::string("this process cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    try {
      if (!begin()) _exit(cannot);
    } catch (...) {
      _exit(cannot);
    }
    began = milliseconds();
    std::exit(0);
  }
  const std::int64_t limit = std::chrono::milliseconds(patience()).count() / 2;
  const std::optional<int> status =
      end_of(child, [&] { return began == 0 || milliseconds() - began < limit; });
  if (!status) {
    ADD_FAILURE()
        << "a process called exit() while a " << busy << " ran and had not ended " << limit
        << " ms later; driver.h: exit handlers of the driver must neither crash nor wait. Look first at "
           "what they and the destructors of the driver's static objects wait for";
  } else if (WIFSIGNALED(*status)) {
    ADD_FAILURE() << "a process that called exit() while a " << busy << " ran was ended by "
                  << signal_of(*status)
                  << "; driver.h: exit handlers of the driver must neither crash nor wait";
  } else if (WEXITSTATUS(*status) == cannot) {
    throw Skipped(std::string("no ") + busy + " could be held in a child of this process");
  }
}

WEIR_REQUIREMENT(2, 25, FirstCall, AProcessExitsWhileACallbackRuns,
                 "A process exits promptly although a host callback runs and another stream waits for it.") {
  expect_prompt_exit("host callback", [] {
    // Nothing is destroyed: exit() does not return to here.
    static std::atomic<bool> runs{false};
    auto *const stream = new Stream, *const waiting = new Stream;
    auto* const end = new Event;
    auto* const memory = new Memory(64);
    needs(WEIR_CAP_HOST_CALLBACK);
    const weir_host_callback endless = [](void*) {
      runs = true;
      for (;;) pause();
    };
    call(table().stream_host_callback, weir_stream(*stream), endless, static_cast<void*>(nullptr));
    end->record(*stream);
    waiting->wait(*end);
    fill<std::uint8_t>(*waiting, *memory, 0, 64, 1);
    if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION))
      call(table().memory_free_async, weir_stream(*waiting), memory->release());
    stream->flush();
    waiting->flush();
    return eventually([] { return runs.load(); });
  });
}

WEIR_REQUIREMENT(3, 67, FirstCall, AProcessExitsWhileAKernelRuns,
                 "A process exits promptly although a kernel runs.") {
  expect_prompt_exit("kernel", [] {
    // Neither is destroyed: exit() does not return to here.
    auto* const held = new HeldKernel;
    auto* const stream = new Stream;
    // Longer than the time limit, also if the time of one kernel was guessed too short.
    for (int i = 0; i < 4; ++i) held->launch(*stream);
    return held->starts();
  });
}

}  // namespace
}  // namespace weir::conformance
