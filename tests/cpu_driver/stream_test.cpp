// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <set>

#include "support.hpp"

namespace cpu_test {

TEST(Stream, RunsItsWorkInOrder) {
  constexpr std::uint32_t count = 2000;
  std::vector<std::uint32_t> log(count + 1, 0);
  Stream stream;
  for (std::uint32_t i = 0; i < count; ++i) stream.launch(kernels().append, AppendArguments{log.data(), i});
  stream.synchronize();
  ASSERT_EQ(log[0], count);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(log[i + 1], i);
}

TEST(Stream, RunsManyBlocksCopiesAndFillsInOrderToo) {
  constexpr std::uint32_t count = 10'000;
  Memory memory(count * 4);
  std::vector<std::uint32_t> out(count);
  Stream stream;
  for (std::uint32_t round = 0; round < 20; ++round) {
    call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         std::uint64_t{count * 4}, static_cast<const void*>(&round), 4u);
    stream.launch(kernels().add, AddArguments{memory.as<std::uint32_t>(), 5}, count);
    stream.launch(kernels().add, AddArguments{memory.as<std::uint32_t>(), 7}, count);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(out.data()), weir_allocation(memory),
         std::uint64_t{0}, std::uint64_t{count * 4});
    stream.synchronize();
    ASSERT_EQ(out, std::vector<std::uint32_t>(count, round + 12));
  }
}

TEST(Stream, SubmittingDoesNotWait) {
  Stream stream;
  Gate gate;
  gate.close(stream);
  std::uint32_t value = 0;
  for (int i = 0; i < 100; ++i) stream.launch(kernels().add, AddArguments{&value, 1});
  EXPECT_FALSE(stream.done());
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(stream.done());
  EXPECT_EQ(value, 100u);
}

// A stream that has waited for one that is gone runs a kernel while a host thread waits for it. A reference
// to the stream that is gone would return it to the driver twice, for two new streams.
TEST(Stream, ForgetsTheStreamThatItHasWaitedFor) {
  Stream second;
  std::uint32_t begun = 0, open = 0, met = 0;
  {
    Stream first;
    Gate gate;
    Event event;
    gate.close(first);
    event.record(first);
    second.wait(event);
    std::thread waits([&] { second.synchronize(); });
    std::this_thread::sleep_for(
        std::chrono::milliseconds(2));  // the test proves something if it waits by now
    gate.open();
    waits.join();
    first.synchronize();
  }
  second.launch(kernels().meet, MeetArguments{&begun, &open, &met});
  call(table().stream_flush, weir_stream(second));
  while (!read(begun)) std::this_thread::yield();
  std::thread waits([&] { second.synchronize(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  raise(open);
  waits.join();
  std::vector<std::unique_ptr<Stream>> streams;
  std::set<weir_stream> handles{second};
  for (int i = 0; i < 600; ++i) handles.insert(*streams.emplace_back(std::make_unique<Stream>()));
  EXPECT_EQ(handles.size(), streams.size() + 1);
}

TEST(Stream, AnEmptyOneIsDone) {
  Stream stream;
  EXPECT_TRUE(stream.done());
  stream.synchronize();
}

// proves R1
TEST(Stream, DoesNotWaitForAnother) {
  Stream held, free;
  Gate gate;
  gate.close(held);
  std::uint32_t value = 0;
  free.launch(kernels().add, AddArguments{&value, 1});
  free.synchronize();
  EXPECT_EQ(value, 1u);
  EXPECT_FALSE(held.done());
}

// proves R6
TEST(Stream, DestroyedWithWorkInFlightStillCompletesIt) {
  std::uint32_t value = 0;
  Gate gate;
  Event end;
  {
    Stream stream;
    gate.close(stream);
    stream.launch(kernels().add, AddArguments{&value, 41});
    stream.launch(kernels().add, AddArguments{&value, 1});
    end.record(stream);
  }
  EXPECT_FALSE(end.done());
  gate.open();
  end.synchronize();
  EXPECT_EQ(value, 42u);
}

// proves R6
TEST(Stream, DestroyedRightAfterSubmittingCompletesWithoutAnyone) {
  std::uint32_t value = 0;
  for (int i = 0; i < 100; ++i) {
    Stream stream;
    stream.launch(kernels().add, AddArguments{&value, 1});
    Event end;
    end.record(stream);
    stream.destroy();
    end.synchronize();
  }
  EXPECT_EQ(value, 100u);
}

// proves R35
TEST(Stream, RefusesDeadAndForeignHandles) {
  Stream stream;
  const weir_stream handle = stream;
  stream.destroy();
  refusal(WEIR_ERROR_INVALID, table().stream_synchronize, handle);
  refusal(WEIR_ERROR_INVALID, table().stream_destroy, handle);
  refusal(WEIR_ERROR_INVALID, table().stream_query, handle);
  refusal(WEIR_ERROR_INVALID, table().stream_flush, handle);
  Event event;
  refusal(WEIR_ERROR_INVALID, table().stream_query, reinterpret_cast<weir_stream>(weir_event(event)));
  refusal(WEIR_ERROR_INVALID, table().stream_query, reinterpret_cast<weir_stream>(std::uintptr_t{3}));
  const weir_launch launch = launch_of(kernels().nothing, 1);
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, handle, &launch);
}

TEST(Stream, FlushedWorkIsSeenToFinishByPolling) {
  Stream stream;
  std::uint32_t value = 0;
  stream.launch(kernels().add, AddArguments{&value, 1});
  call(table().stream_flush, weir_stream(stream));
  while (!stream.done()) std::this_thread::yield();
  EXPECT_EQ(value, 1u);
}

TEST(Stream, PollingAloneIsEnoughForProgress) {
  std::uint32_t value = 0;
  for (int i = 0; i < 100; ++i) {
    Stream stream;
    stream.launch(kernels().add, AddArguments{&value, 1});
    while (!stream.done()) std::this_thread::yield();
  }
  EXPECT_EQ(value, 100u);
}

TEST(Stream, ManyShareTheDevice) {
  constexpr int count = 500;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::uint32_t> values(count, 0);
  for (int i = 0; i < count; ++i) streams.push_back(std::make_unique<Stream>());
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < count; ++i) streams[i]->launch(kernels().add, AddArguments{&values[i], 1});
  for (auto& stream : streams) stream->synchronize();
  EXPECT_EQ(values, std::vector<std::uint32_t>(count, 5));
}

// A thread that waits follows the streams up to a length, and leaves longer chains to the workers.
TEST(Stream, MayWaitForAChainOfThousandsOfStreams) {
  std::vector<std::unique_ptr<Stream>> chain;
  std::uint32_t value = 0;
  Gate gate;
  Event event;
  for (int i = 0; i < 3000; ++i) {
    Stream& stream = *chain.emplace_back(std::make_unique<Stream>());
    if (i == 0) gate.close(stream);
    stream.wait(event);
    stream.launch(kernels().add, AddArguments{&value, 1});
    event.record(stream);
  }
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    gate.open();
  });
  chain.back()->synchronize();
  EXPECT_EQ(value, 3000u);
  opener.join();
}

// proves R35
TEST(Stream, RefusesOptionsWithoutASize) {
  const weir_stream_options options{0, 0};
  weir_stream out = nullptr;
  const std::string message =
      refusal(WEIR_ERROR_INVALID, table().stream_create, first_device(), &options, &out);
  EXPECT_NE(message.find("options has struct_size 0"), std::string::npos) << message;
  EXPECT_EQ(out, nullptr);
}

}  // namespace cpu_test
