// SPDX-License-Identifier: Apache-2.0
// A driver and its process: children made by fork, and the last closing of a device.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/gate.hpp"

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

/// Calls functions of the table in a child; their results do not matter.
void call_in_a_child(char* now, weir_stream stream, weir_event event, weir_allocation memory) {
  const auto calling = [&](const char* name) { std::strcpy(now, name); };
  weir_status status = new_status();
  std::uint32_t count = 0;
  weir_device opened = nullptr;
  weir_stream made = nullptr;
  weir_allocation allocated = nullptr;
  std::uint64_t free = 0, total = 0;
  const weir_memory_options options = memory_options(64);
  const std::uint8_t byte = 1;
  std::uint8_t host[64];
  calling("device_count"), (void)table().device_count(&count, &status);
  calling("device_open"), (void)table().device_open(judged().device, &opened, &status);
  calling("device_get_memory"), (void)table().device_get_memory(device(), &free, &total, &status);
  calling("stream_create"), (void)table().stream_create(device(), nullptr, &made, &status);
  calling("stream_query"), (void)table().stream_query(stream, &status);
  calling("event_query"), (void)table().event_query(event, &status);
  calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &allocated, &status);
  calling("fill"), (void)table().fill(stream, memory, 0, 64, &byte, 1, &status);
  calling("copy_to_host"), (void)table().copy_to_host(stream, host, memory, 0, 64, &status);
  calling("stream_flush"), (void)table().stream_flush(stream, &status);
  calling("stream_synchronize"), (void)table().stream_synchronize(stream, &status);
  calling("event_synchronize"), (void)table().event_synchronize(event, &status);
  calling("exit"), std::exit(0);
}

WEIR_REQUIREMENT(
    2, 70, Process, AForkedChildNeitherHangsNorCrashes,
    "In a child made by fork while work is held, functions of the table return, the child exits, "
    "and the parent goes on.") {
  const Memory memory(64);
  const Stream stream;
  const Event event;
  const Shared now;
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  event.record(stream);
  const pid_t child = fork();
  ASSERT_GE(child, 0) << "fork failed";
  if (child == 0) call_in_a_child(now.text(), stream, event, memory);
  int status = 0;
  const auto limit = std::chrono::steady_clock::now() + patience() / 2.0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ADD_FAILURE()
        << "a child that was forked while work was held hung in " << now.text()
        << "; driver.h: in such a child, functions return without waiting for work and the child can "
           "exit. Look first at what "
        << now.text() << " waits for, and at pthread_atfork";
  } else if (WIFSIGNALED(status)) {
    ADD_FAILURE() << "a child that was forked while work was held was ended by signal " << WTERMSIG(status)
                  << " (" << strsignal(WTERMSIG(status)) << ") in " << now.text();
  }
  if (gate) gate->open();
  fill<std::uint8_t>(stream, memory, 0, 64, 3);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 3))) << "in the parent, after the child";
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(
    2, 71, FirstCall, TheLastCloseWaits,
    "The last device_close returns after the work of streams that were destroyed while they were "
    "busy.") {
  needs_device();
  weir_device_info described{};
  described.struct_size = sizeof described;
  call(table().device_get_info, judged().device, &described);
  if (!(described.capabilities & WEIR_CAP_HOST_CALLBACK))
    throw Unsupported("the device does not offer HOST_CALLBACK");
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
}

}  // namespace
}  // namespace weir::conformance
