// SPDX-License-Identifier: Apache-2.0
// A driver and its process: the last closing of a device, and exit.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"
#include "kernels/held_kernel.hpp"
#include "process/forked.hpp"

namespace weir::conformance {
namespace {

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
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

/// Nothing else may have opened the device. The last close of it must wait for a chain of destroyed streams,
/// each of which waits for the one before.
void expect_close_waits_for_a_chain_of_destroyed_streams() {
  constexpr int length = 4;
  static std::atomic<bool> released{false};
  static std::atomic<int> ran{0};
  released = false, ran = 0;
  const weir_host_callback hold = [](void*) {
    const auto limit = std::chrono::steady_clock::now() + patience();
    while (!released && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++ran;
  };
  const weir_host_callback count = [](void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++ran;
  };
  const auto none = static_cast<void*>(nullptr);
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  {
    std::vector<Stream> streams;
    std::vector<Event> events;
    for (int i = 0; i < length; ++i) {
      streams.emplace_back(opened);
      events.emplace_back(WEIR_EVENT_PLAIN, opened);
    }
    for (std::size_t i = 0; i < length; ++i) {
      if (i > 0) streams[i].wait(events[i - 1]);
      call(table().stream_host_callback, weir_stream(streams[i]), i == 0 ? hold : count, none);
      events[i].record(streams[i]);
      streams[i].flush();
    }
    // The streams have time to find that they must wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (Stream& stream : streams) stream.destroy();
  }
  std::atomic<bool> closed{false};
  int before = -1;
  std::jthread closing([&] {
    EXPECT_EQ(result_of(table().device_close, opened), WEIR_OK) << "the last device_close";
    before = ran;
    closed = true;
  });
  const bool waited = never([&] { return closed.load(); });
  released = true;
  closing.join();
  EXPECT_TRUE(waited && before == length)
      << length << " streams, of which the first was held by a host callback and each other one waited for "
      << "an event of the one before, were destroyed. The last device_close returned "
      << (waited ? "when " + std::to_string(before) + " of their callbacks had ended"
                 : "while the first was held")
      << ". driver.h: the last call blocks until the device's work is complete. Look first at which streams "
         "device_close counts";
  EXPECT_TRUE(eventually([] { return ran == length; })) << "of the callbacks, " << ran << " have run";
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(
    2, 71, FirstCall, TheLastCloseWaits,
    "The last device_close returns after the work of streams that were destroyed while they were "
    "busy, also if one takes seconds, waits for another destroyed one, or waits for another device.") {
  needs_unopened(WEIR_CAP_HOST_CALLBACK);
  static std::atomic<int> ended{0};
  // The first is longer than a time limit that a driver may have put on its wait.
  static const std::chrono::milliseconds longest(judged().thorough ? 7500 : 1500);
  constexpr int streams = 8;
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  for (int i = 0; i < streams; ++i) {
    weir_stream stream = nullptr;
    call(table().stream_create, opened, static_cast<const weir_stream_options*>(nullptr), &stream);
    const weir_host_callback slow = [](void* user) {
      std::this_thread::sleep_for(user ? longest : std::chrono::milliseconds(20));
      ++ended;
    };
    call(table().stream_host_callback, stream, slow, static_cast<void*>(i == 0 ? &ended : nullptr));
    call(table().stream_destroy, stream);
  }
  call(table().device_close, opened);
  EXPECT_EQ(ended, streams) << streams << " streams were destroyed, one with a host callback of "
                            << longest.count()
                            << " ms, the others with one of 20 ms; when the last device_close returned, "
                            << ended
                            << " callbacks had ended. driver.h: the last call blocks until the device's work "
                            << "is complete. Look first at what device_close waits for";
  // The callbacks use this process.
  for (int i = 0; i < 10'000 && ended < streams; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!HasFailure()) expect_close_waits_for_a_chain_of_destroyed_streams();
  if (device_count() > 1 && !HasFailure()) expect_close_waits_for_work_behind_another_device();
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(0, 56, FirstCall, CanBeOpenedAgainAfterItsLastClose,
                 "A device whose last opening was closed can be opened and used again, as often as wanted.") {
  needs_device();
  constexpr const char* advice =
      ". No other opening was left. driver.h: device_open opens the device and counts. Look first at what "
      "device_close ends and device_open does not begin again";
  constexpr int rounds = 40;
  std::ptrdiff_t threads = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 2) threads = threads_of_process();
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
  EXPECT_TRUE(eventually([&] { return threads_of_process() < threads + rounds / 4; }))
      << "the process has " << threads_of_process() << " threads after " << rounds
      << " rounds of device_open and device_close; after half of them, it had " << threads
      << ". Look first at the threads that device_close leaves behind";
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

/// The program of a process, as a path; empty if it has ended, also if nobody has waited for it yet.
std::string program_of(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/exe", error).string();
}

/// The children of this process that run its own program.
std::vector<pid_t> children_by_fork() {
  std::vector<pid_t> children;
  const std::string program = program_of("self"), parent = "PPid:\t" + std::to_string(getpid());
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::isdigit(static_cast<unsigned char>(name[0])) && std::getline(status, line);)
      if (line == parent && program_of(name) == program) children.push_back(std::stoi(name));
  }
  return children;
}

/// This process adopts what a child leaves behind. Programs that were started may go on for a while.
void expect_no_process_left(const char* busy) {
  if (eventually([] { return children_by_fork().empty(); })) return;
  for (const pid_t left : children_by_fork()) (void)kill(left, SIGKILL);
  ADD_FAILURE() << "a process called exit() " << busy << " and had ended; " << 2 * patience().count()
                << " s later, a process that it had forked still ran. driver.h: processes that the driver "
                   "started by fork alone must not outlive it. Look first at how that process finds that "
                   "the driver's has ended";
}

/// Forks a child that calls `begin`, which keeps the device busy for longer than the time limit and returns
/// whether it could, and then exit(). This process must not have used the driver, so that the child can.
/// Returns whether the child ended within `limit` milliseconds.
bool exits_within(std::int64_t limit, const char* busy, const std::function<bool()>& begin) {
  const Shared now;
  auto& began = *reinterpret_cast<std::atomic<std::int64_t>*>(now.text());
  const auto milliseconds = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  constexpr int cannot = 77;
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);  // to get the processes that the child leaves behind
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
  const std::optional<int> status =
      end_of(child, [&] { return began == 0 || milliseconds() - began < limit; });
  if (!status) return false;
  if (WIFSIGNALED(*status))
    ADD_FAILURE() << "a process that called exit() " << busy << " was ended by " << signal_of(*status)
                  << "; driver.h: exit handlers of the driver must neither crash nor wait";
  else if (WEXITSTATUS(*status) == cannot)
    throw Skipped(std::string("the driver could not be used ") + busy + " in a child of this process");
  expect_no_process_left(busy);
  return true;
}

void fail_slow_exit(std::int64_t limit, const char* busy) {
  ADD_FAILURE() << "a process called exit() " << busy << " and had not ended " << limit
                << " ms later; driver.h: exit handlers of the driver must neither crash nor wait. Look first "
                   "at what they and the destructors of the driver's static objects wait for";
}

void expect_prompt_exit(const char* busy, const std::function<bool()>& begin) {
  const std::int64_t limit = std::chrono::milliseconds(patience()).count() / 2;
  if (!exits_within(limit, busy, begin)) fail_slow_exit(limit, busy);
}

/// The same after a callback has run: threads of the driver may wait for the next one for some seconds. The
/// limit is shorter than that, and a busy machine gets several tries.
void expect_prompt_exit_after_a_callback() {
  constexpr std::int64_t limit = 1000;
  const char* const busy = "after a host callback had run";
  for (int tries = 0; tries < 3; ++tries)
    if (exits_within(limit, busy, [] {
          static std::atomic<bool> ran{false};
          auto* const stream = new Stream;
          const weir_host_callback run = [](void*) { ran = true; };
          call(table().stream_host_callback, weir_stream(*stream), run, static_cast<void*>(nullptr));
          stream->synchronize();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the callback's thread waits
          return ran.load();
        }))
      return;
  fail_slow_exit(limit, busy);
}

WEIR_REQUIREMENT(
    2, 25, FirstCall, AProcessExitsWhileACallbackRuns,
    "A process exits promptly although a host callback runs and another stream waits for it, and "
    "within a second after a callback has run.") {
  expect_prompt_exit("while a host callback ran", [] {
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
  if (!HasFailure()) expect_prompt_exit_after_a_callback();
}

WEIR_REQUIREMENT(3, 67, FirstCall, AProcessExitsWhileAKernelRuns,
                 "A process exits promptly although a kernel runs.") {
  expect_prompt_exit("while a kernel ran", [] {
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
