// SPDX-License-Identifier: Apache-2.0
// Streams, events and callbacks.
#include <chrono>
#include <thread>

#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::Each;
using testing::HasSubstr;

// proves R1
TEST_F(Simulator, StreamsNeverWaitForTheDefaultStream) {
  Gate gate(stream);
  const auto wait_for_default = simulator<int (*)(void*)>("hipStreamSynchronize");
  EXPECT_EQ(wait_for_default(nullptr), 0) << "it would not return if it waited for the stream that is held";
  const weir_stream other = new_stream(device, -1);
  call(table().stream_synchronize, other);
  call(table().stream_destroy, other);
}

// proves R9
TEST_F(Simulator, EventsOrderStreamsAndMeasure) {
  OnDevice second(1);
  const weir_event start = new_event(device, WEIR_EVENT_TIMED), end = new_event(device, WEIR_EVENT_TIMED),
                   plain = new_event(device);
  call(table().stream_wait_event, second.stream, plain);  // never recorded
  call(table().stream_synchronize, second.stream);
  {
    Gate gate(stream);
    call(table().event_record, start, stream);
    call(table().event_record, end, stream);
    call(table().event_record, plain, stream);
    call(table().stream_wait_event, second.stream, plain);
    EXPECT_EQ(table().event_query(plain, nullptr), WEIR_NOT_READY);
    EXPECT_EQ(table().stream_query(second.stream, nullptr), WEIR_NOT_READY);
    double nanoseconds = 0;
    EXPECT_EQ(table().event_elapsed(start, end, &nanoseconds, nullptr), WEIR_NOT_READY);
  }
  call(table().stream_synchronize, second.stream);
  double nanoseconds = -1;
  call(table().event_elapsed, start, end, &nanoseconds);
  EXPECT_GE(nanoseconds, 0);
  for (weir_event event : {start, end, plain}) call(table().event_destroy, event);
}

// proves R6
TEST_F(Simulator, DestroyingAStreamWithWorkDoesNotWaitAndTheWorkCompletes) {
  const weir_allocation memory = allocate(device, 4);
  const weir_stream dying = new_stream(device);
  const weir_event event = new_event(device);
  const std::uint32_t value = 42;
  void* native = nullptr;
  call(table().stream_get_native, dying, &native);
  const auto flags_of = simulator<int (*)(void*, unsigned*)>("hipStreamGetFlags");
  unsigned flags = 0;
  {
    Gate gate(dying);
    call(table().fill, dying, memory, 0ull, 4ull, static_cast<const void*>(&value), 4u);
    call(table().event_record, event, dying);
    call(table().stream_wait_event, stream, event);
    call(table().event_destroy, event);
    call(table().stream_destroy, dying);
    EXPECT_EQ(flags_of(native, &flags), 0) << "HIP's destroy would wait, so the driver defers it";
  }
  EXPECT_EQ(read<std::uint32_t>(stream, memory, 1).at(0), 42u);
  call(table().memory_free, memory);  // a call that may block
  call(table().memory_free, allocate(device, 4));
  EXPECT_EQ(flags_of(native, &flags), 400) << "it is gone";
}

// proves R7
TEST_F(Simulator, ForeignStreamIsUsedAndNotDestroyed) {
  weir_stream wrapped = nullptr;
  call(table().stream_wrap, device, native(), &wrapped);
  call(table().stream_destroy, wrapped);
  call(table().stream_synchronize, stream);
  for (const std::uintptr_t number : {0, 1, 2})
    EXPECT_THAT(
        refusal(WEIR_ERROR_INVALID, table().stream_wrap, device, reinterpret_cast<void*>(number), &wrapped),
        HasSubstr("default streams"));
  OnDevice second(1);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_wrap, second.device, native(), &wrapped),
              HasSubstr("of device 0; expected one of device 1"));
}

TEST_F(Simulator, HostCallbackRunsAfterEarlierWork) {
  const weir_allocation pinned = allocate(device, 4, WEIR_MEMORY_PINNED);
  struct Seen {
    const volatile std::uint32_t* memory;
    std::uint32_t value;
  } seen{static_cast<std::uint32_t*>(memory_info(pinned).host_pointer), 0};
  const std::uint32_t value = 9;
  call(table().fill, stream, pinned, 0ull, 4ull, static_cast<const void*>(&value), 4u);
  const weir_host_callback callback = [](void* user) {
    auto* s = static_cast<Seen*>(user);
    s->value = *s->memory;
  };
  call(table().stream_host_callback, stream, callback, static_cast<void*>(&seen));
  call(table().stream_synchronize, stream);
  EXPECT_EQ(seen.value, 9u);
  call(table().memory_free, pinned);
}

// proves R12
TEST_F(Simulator, CopiesOfOrdinaryMemoryDoNotWaitForTheStream) {
  for (const std::size_t count : {std::size_t{16}, std::size_t{5} << 18}) {  // HIP waits for small ones too
    const std::uint64_t size = count * 4;
    const weir_allocation memory = allocate(device, size);
    std::vector<std::uint32_t> in(count, 7), out(count, 1);
    {
      Gate gate(stream);
      call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(in.data()), size);
      call(table().copy_to_host, stream, static_cast<void*>(out.data()), memory, 0ull, size);
      EXPECT_THAT(out, Each(1u));
    }
    call(table().stream_synchronize, stream);
    EXPECT_EQ(out, in);
    call(table().memory_free, memory);
  }
}

TEST_F(Simulator, OthersDoNotSeeAnErrorWhenMemoryIsLookedAt) {
  const weir_allocation memory = allocate(device, 64);
  std::vector<std::uint8_t> out(64);
  simulator<int (*)()>("hipGetLastError")();
  {
    Gate gate(stream);
    fail_next("hipPointerGetAttributes", 1);
    call(table().copy_to_host, stream, static_cast<void*>(out.data()), memory, 0ull, 64ull);
    EXPECT_EQ(simulator<int (*)()>("hipPeekAtLastError")(), 0);
  }
  call(table().stream_synchronize, stream);
  call(table().memory_free, memory);
}

}  // namespace
}  // namespace amdgpu_test
