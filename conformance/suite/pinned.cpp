// SPDX-License-Identifier: Apache-2.0
// Level 4: pinned host memory.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <stop_token>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 20, Pinned, HasAHostPointer,
                 "Pinned memory has a host_pointer, through which the host reads and writes all of it.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const Memory memory(100'000, WEIR_MEMORY_PINNED);
  ASSERT_NE(memory.info().host_pointer, nullptr);
  EXPECT_EQ(memory.info().kind, std::uint32_t{WEIR_MEMORY_PINNED});
  EXPECT_EQ(memory.info().size, 100'000u);
  auto* bytes = static_cast<std::uint8_t*>(memory.info().host_pointer);
  std::memset(bytes, 7, 100'000);
  EXPECT_TRUE(Bytes(bytes, bytes + 100'000) == Bytes(100'000, 7));
}

WEIR_REQUIREMENT(4, 21, Pinned, IsSourceAndDestinationOfHostCopies,
                 "Host copies read and write pinned memory through its host_pointer.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const HostMemory from(pattern(50'000)), to(50'000);
  const Memory memory(50'000);
  const Stream stream;
  call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
       static_cast<const void*>(from.data()), std::uint64_t{50'000});
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(to.data()), weir_allocation(memory),
       std::uint64_t{0}, std::uint64_t{50'000});
  stream.synchronize();
  EXPECT_TRUE(same_bytes(to.bytes(), pattern(50'000)));
}

WEIR_REQUIREMENT(4, 22, Pinned, IsFilledAndCopiedByHandle,
                 "Fills and copies on the device take pinned memory by its handle.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const Memory pinned(4096, WEIR_MEMORY_PINNED), memory(4096);
  const Stream stream;
  fill<std::uint32_t>(stream, pinned, 0, 4096, 0x0a0b0c0d);
  call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
       weir_allocation(pinned), std::uint64_t{0}, std::uint64_t{4096});
  stream.synchronize();
  EXPECT_EQ(memory.values<std::uint32_t>(), std::vector<std::uint32_t>(1024, 0x0a0b0c0d));
  fill<std::uint8_t>(stream, memory, 0, 4096, 1);
  fill<std::uint8_t>(stream, pinned, 0, 4096, 2);
  fill<std::uint32_t>(stream, pinned, 1024, 512, 0x03030303);
  const auto copy = [&](const Memory& to, std::uint64_t at, const Memory& from, std::uint64_t from_at,
                        std::uint64_t size) {
    call(table().copy_on_device, weir_stream(stream), weir_allocation(to), at, weir_allocation(from), from_at,
         size);
  };
  copy(pinned, 2000, memory, 100, 64);
  copy(memory, 3000, pinned, 1000, 100);
  stream.synchronize();
  Bytes in_pinned(4096, 2), in_memory(4096, 1);
  std::fill_n(in_pinned.begin() + 1024, 512, std::uint8_t{3});
  std::fill_n(in_pinned.begin() + 2000, 64, std::uint8_t{1});
  std::fill_n(in_memory.begin() + 3000, 24, std::uint8_t{2});
  std::fill_n(in_memory.begin() + 3024, 76, std::uint8_t{3});
  EXPECT_TRUE(same_bytes(pinned.read(), in_pinned)) << "pinned memory, after a fill and a copy at offsets";
  EXPECT_TRUE(same_bytes(memory.read(), in_memory))
      << "device memory, after a copy of pinned memory at offsets";
}

WEIR_REQUIREMENT(4, 23, Pinned, IsSeenByTheHostAfterAnEvent,
                 "The host sees a stream's writes to pinned memory when a later event is reached.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const Memory pinned(1u << 20, WEIR_MEMORY_PINNED);
  const auto* bytes = static_cast<const std::uint8_t*>(pinned.info().host_pointer);
  const Stream stream;
  const Event event;
  for (std::uint8_t i = 1; i <= 50; ++i) {
    fill<std::uint8_t>(stream, pinned, 0, 1u << 20, i);
    event.record(stream);
    ASSERT_TRUE(eventually([&] { return event.done(); }))
        << "a fill of pinned memory was submitted and an event recorded after it; event_query never "
           "returned WEIR_OK";
    ASSERT_EQ(bytes[0], i);
    ASSERT_EQ(bytes[(1u << 20) - 1], i);
  }
}

WEIR_REQUIREMENT(4, 24, Pinned, IsReadAndWrittenByKernels, "Kernels read and write pinned memory.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const Kernel scale_add("scale_add");
  const Memory in(8 * 1000, WEIR_MEMORY_PINNED), out(8 * 1000, WEIR_MEMORY_PINNED);
  auto* from = static_cast<std::int64_t*>(in.info().host_pointer);
  auto* to = static_cast<std::int64_t*>(out.info().host_pointer);
  for (std::int64_t i = 0; i < 1000; ++i) from[i] = i, to[i] = 1'000'000;
  const Stream stream;
  scale_add.launch(stream, arguments(out, in, std::int64_t{1000}, std::int64_t{7}), 4);
  stream.synchronize();
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(to[i], 7 * i + 1'000'000);
}

WEIR_REQUIREMENT(4, 25, Pinned, SizeOfZeroIsInvalid, "Pinned memory of 0 bytes returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  const weir_memory_options options = memory_options(0, WEIR_MEMORY_PINNED);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, device(), &options, &out);
}

WEIR_REQUIREMENT(
    4, 86, Pinned, IsFreedInTheStreamsOrder,
    "Pinned memory of memory_free_async is given to no other allocation before the stream has passed "
    "the deallocation.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  constexpr std::uint64_t size = 10'000;
  const Stream stream;
  std::vector<Memory> freed;
  for (int i = 0; i < 8; ++i) freed.emplace_back(size, WEIR_MEMORY_PINNED);
  Gate gate;
  gate.hold(stream);
  for (Memory& one : freed) {
    fill<std::uint8_t>(stream, one, 0, size, 0xee);
    call(table().memory_free_async, weir_stream(stream), one.release());
  }
  stream.flush();
  // memory_allocate may block, also until the stream goes on.
  std::jthread opening([&gate](const std::stop_token& stopped) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience()) / 2;
    while (!stopped.stop_requested() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gate.open();
  });
  std::vector<Memory> made;
  for (std::uint32_t i = 0; i < 8; ++i) {
    made.emplace_back(size, WEIR_MEMORY_PINNED);
    const Bytes bytes = pattern(size, i);
    std::memcpy(made.back().info().host_pointer, bytes.data(), size);
  }
  opening.request_stop();
  opening.join();
  stream.synchronize();
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto* const host = static_cast<const std::uint8_t*>(made[i].info().host_pointer);
    ASSERT_TRUE(same_bytes(Bytes(host, host + size), pattern(size, i)))
        << "8 allocations of pinned memory were filled and freed in a held stream. Allocation " << i
        << " was made after that and written by the host, and the fills changed it. Look first at when "
           "memory_free_async frees pinned memory";
  }
}

}  // namespace
}  // namespace weir::conformance
