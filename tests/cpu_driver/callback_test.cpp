// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "driver_threads.hpp"
#include "support.hpp"

namespace cpu_test {

TEST(HostCallback, RunsInTheStreamsOrderOnAnotherThread) {
  Stream stream;
  std::uint32_t value = 0;
  std::uint32_t seen = 0;
  std::thread::id where;
  std::function<void()> body = [&] {
    seen = value;
    where = std::this_thread::get_id();
  };
  stream.launch(kernels().add, AddArguments{&value, 1});
  submit_callback(stream, body);
  stream.launch(kernels().add, AddArguments{&value, 1});
  stream.synchronize();
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(value, 2u);
  EXPECT_NE(where, std::this_thread::get_id());
}

// A handler of the program must not run on a thread of the driver.
TEST(HostCallback, RunsWithSignalsBlocked) {
  Stream stream;
  std::map<std::string, bool> threads;
  std::function<void()> body = [&] { threads = weir::test::driver_threads_that_block_signals(); };
  submit_callback(stream, body);
  stream.synchronize();
  EXPECT_EQ(threads, (std::map<std::string, bool>{{"weir-callback", true}, {"weir-cpu", true}}));
}

// proves R5
TEST(HostCallback, ThatBlocksDelaysOnlyItsStream) {
  const std::uint32_t count = device_info().recommended_streams + 2;
  std::uint32_t open = 0;
  std::function<void()> body = [&] {
    while (!read(open)) std::this_thread::yield();
  };
  std::vector<std::unique_ptr<Stream>> held;
  for (std::uint32_t i = 0; i < count; ++i) {
    held.push_back(std::make_unique<Stream>());
    submit_callback(*held.back(), body);
  }
  Stream free;
  std::uint32_t value = 0;
  free.launch(kernels().add, AddArguments{&value, 1}, 1);
  free.synchronize();
  EXPECT_EQ(value, 1u);
  for (auto& stream : held) EXPECT_FALSE(stream->done());
  raise(open);
  for (auto& stream : held) stream->synchronize();
}

/// Ends only if the callbacks of two streams run at the same time. Both streams wait for one event, so that
/// their callbacks begin together.
void let_two_callbacks_meet() {
  std::uint32_t words[2] = {};
  std::function<void()> bodies[2];
  Stream before, streams[2];
  Gate gate;
  Event event;
  gate.close(before);
  event.record(before);
  for (int i = 0; i < 2; ++i) {
    bodies[i] = [&words, i] {
      raise(words[i]);
      while (!read(words[1 - i])) std::this_thread::yield();
    };
    streams[i].wait(event);
    submit_callback(streams[i], bodies[i]);
  }
  gate.open();
  while (!streams[0].done() || !streams[1].done()) std::this_thread::yield();  // workers run both
}

TEST(HostCallback, OfTwoStreamsMayWaitForEachOther) {
  let_two_callbacks_meet();
}

// A thread whose callback has ended serves one later callback at a time. In a process without the threads of
// other tests.
TEST(HostCallbackDeathTest, OfTwoStreamsMayWaitForEachOtherAfterOthersHaveEnded) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    std::function<void()> nothing = [] {};
    for (int i = 0; i < 3; ++i) {
      Stream stream;
      submit_callback(stream, nothing);
      stream.synchronize();
    }
    for (int round = 0; round < 10; ++round) let_two_callbacks_meet();
  });
}

TEST(HostCallback, ReleasesStreamsThatWaitForIt) {
  Stream stream, other;
  std::uint32_t open = 0;
  std::function<void()> body = [&] {
    while (!read(open)) std::this_thread::yield();
  };
  submit_callback(stream, body);
  Event event;
  event.record(stream);
  other.wait(event);
  EXPECT_FALSE(other.done());
  raise(open);
  other.synchronize();
  EXPECT_TRUE(event.done());
}

// proves R35
TEST(HostCallback, RefusesNull) {
  Stream stream;
  void* user = nullptr;
  refusal(WEIR_ERROR_INVALID, table().stream_host_callback, weir_stream(stream), weir_host_callback{nullptr},
          user);
}

}  // namespace cpu_test
