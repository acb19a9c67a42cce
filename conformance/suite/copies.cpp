// SPDX-License-Identifier: Apache-2.0
// Level 1: copies.
#include "end_of_memory.hpp"
#include "objects.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t sizes[] = {1, 2, 3, 15, 16, 17, 255, 4095, 4096, 65537, (1u << 20) + 3};

void copy_in(const Stream& stream, const Memory& to, std::uint64_t offset, const void* from,
             std::uint64_t size) {
  call(table().copy_to_device, weir_stream(stream), weir_allocation(to), offset, from, size);
}
void copy_out(const Stream& stream, void* to, const Memory& from, std::uint64_t offset, std::uint64_t size) {
  call(table().copy_to_host, weir_stream(stream), to, weir_allocation(from), offset, size);
}
void copy_on(const Stream& stream, const Memory& to, std::uint64_t to_offset, const Memory& from,
             std::uint64_t from_offset, std::uint64_t size) {
  call(table().copy_on_device, weir_stream(stream), weir_allocation(to), to_offset, weir_allocation(from),
       from_offset, size);
}

WEIR_REQUIREMENT(
    1, 20, Copies, ToDeviceAndBackKeepEveryByte,
    "A copy to the device and back keeps every byte, in every size, and touches no byte past the "
    "end of the host's memory.") {
  for (const std::uint64_t size : sizes) {
    const Memory memory(size);
    memory.write(pattern(size));
    EXPECT_TRUE(same_bytes(memory.read(), pattern(size))) << "of " << size << " bytes";
  }
  const EndOfMemory from(70), to(70);
  const Memory memory(70);
  const Stream stream;
  for (std::uint64_t size = 1; size <= 70; ++size) {
    const Bytes bytes = pattern(size, static_cast<std::uint32_t>(size));
    copy_in(stream, memory, 0, from.last(bytes), size);
    copy_out(stream, to.last(size), memory, 0, size);
    stream.synchronize();
    EXPECT_TRUE(same_bytes({to.last(size), size}, bytes)) << "of " << size << " bytes at the end of a page";
  }
}

WEIR_REQUIREMENT(1, 21, Copies, ToDeviceTouchNothingElse,
                 "copy_to_device writes its range and nothing around it.") {
  const Memory memory(1000);
  memory.write(Bytes(1000, 7));
  memory.write(pattern(333), 111);
  Bytes expected(1000, 7);
  std::ranges::copy(pattern(333), expected.begin() + 111);
  EXPECT_TRUE(same_bytes(memory.read(), expected));
}

WEIR_REQUIREMENT(1, 22, Copies, ToHostTouchNothingElse,
                 "copy_to_host reads from its offset and writes no more than its size.") {
  const Memory memory(1000);
  memory.write(pattern(1000));
  Bytes host(600, 9);
  const Stream stream;
  copy_out(stream, host.data() + 100, memory, 123, 400);
  stream.synchronize();
  Bytes expected(600, 9);
  std::ranges::copy_n(pattern(1000).begin() + 123, 400, expected.begin() + 100);
  EXPECT_EQ(host, expected);
}

WEIR_REQUIREMENT(1, 23, Copies, OnDeviceKeepEveryByte,
                 "copy_on_device moves its range between allocations and touches nothing else.") {
  for (const std::uint64_t size : sizes) {
    const Memory from(size + 50), to(size + 80);
    from.write(pattern(size + 50));
    to.write(Bytes(size + 80, 5));
    const Stream stream;
    copy_on(stream, to, 33, from, 21, size);
    stream.synchronize();
    Bytes expected(size + 80, 5);
    std::ranges::copy_n(pattern(size + 50).begin() + 21, static_cast<std::ptrdiff_t>(size),
                        expected.begin() + 33);
    EXPECT_TRUE(same_bytes(to.read(), expected)) << "of " << size << " bytes";
    EXPECT_TRUE(same_bytes(from.read(), pattern(size + 50))) << "the source changed";
  }
}

WEIR_REQUIREMENT(
    1, 24, Copies, InsideOneAllocationMayTouch,
    "copy_on_device works inside one allocation when the ranges are apart, also when they touch.") {
  const Memory memory(2000);
  memory.write(pattern(2000));
  const Stream stream;
  copy_on(stream, memory, 1000, memory, 0, 1000);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(1000, 1000), memory.read(0, 1000)));
  // The other way, to ranges below their sources.
  Bytes expected = pattern(2000, 2);
  memory.write(expected);
  copy_on(stream, memory, 0, memory, 1000, 1000);
  copy_on(stream, memory, 100, memory, 1900, 50);
  stream.synchronize();
  std::copy(expected.begin() + 1000, expected.end(), expected.begin());
  std::copy_n(expected.begin() + 1900, 50, expected.begin() + 100);
  EXPECT_TRUE(same_bytes(memory.read(), expected)) << "after copies to ranges below their sources";
}

WEIR_REQUIREMENT(1, 25, Copies, OverlapIsInvalid,
                 "copy_on_device of ranges that overlap returns WEIR_ERROR_INVALID and changes nothing.") {
  const Memory memory(1000);
  memory.write(pattern(1000));
  const Stream stream;
  const std::uint64_t pairs[][2] = {{0, 99}, {99, 0}, {50, 50}, {0, 1}};
  for (const auto& [to, from] : pairs)
    refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory), to,
            weir_allocation(memory), from, std::uint64_t{100});
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(1000)));
}

WEIR_REQUIREMENT(1, 26, Copies, ToDevicePastTheEndAreInvalid,
                 "copy_to_device past the end returns WEIR_ERROR_INVALID, also where offset + size wraps, "
                 "and changes nothing.") {
  const Memory memory(100);
  memory.write(pattern(100));
  const Bytes host(300, 1);
  const Stream stream;
  const std::uint64_t ranges[][2] = {{0, 101},   {1, 100},       {100, 1},         {101, 1},
                                     {~0ull, 1}, {~0ull - 1, 3}, {50, ~0ull - 20}, {1ull << 63, 1ull << 63}};
  for (const auto& [offset, size] : ranges)
    refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory), offset,
            static_cast<const void*>(host.data()), size);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(100)));
}

WEIR_REQUIREMENT(1, 27, Copies, ToHostPastTheEndAreInvalid,
                 "copy_to_host past the end returns WEIR_ERROR_INVALID, also where offset + size wraps, and "
                 "writes nothing.") {
  const Memory memory(100);
  Bytes host(300, 1);
  const Stream stream;
  const std::uint64_t ranges[][2] = {{0, 101}, {1, 100}, {100, 1}, {101, 1}, {~0ull, 1}, {50, ~0ull - 20}};
  for (const auto& [offset, size] : ranges)
    refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()),
            weir_allocation(memory), offset, size);
  stream.synchronize();
  EXPECT_EQ(host, Bytes(300, 1));
}

WEIR_REQUIREMENT(
    1, 28, Copies, OnDevicePastEitherEndAreInvalid,
    "copy_on_device past the end of source or destination returns WEIR_ERROR_INVALID and changes nothing. "
    "The message does not name the destination if the source is wrong, or the other way round.") {
  const Memory small(100), large(200);
  small.write(pattern(100));
  large.write(pattern(200));
  const Stream stream;
  const std::uint64_t ranges[][2] = {{0, 101}, {1, 100}, {101, 1}, {~0ull, 2}};
  const auto expect_named = [](const std::string& message, const char* wrong, const char* right) {
    EXPECT_TRUE(message.find(right) == std::string::npos || message.find(wrong) != std::string::npos)
        << "copy_on_device with a range past the end of the " << wrong << " names the " << right << ": "
        << message << "; driver.h: an argument is wrong; the message names it";
  };
  for (const auto& [offset, size] : ranges) {
    expect_named(refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream),
                         weir_allocation(small), offset, weir_allocation(large), std::uint64_t{0}, size),
                 "destination", "source");
    expect_named(refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream),
                         weir_allocation(large), std::uint64_t{0}, weir_allocation(small), offset, size),
                 "source", "destination");
  }
  stream.synchronize();
  EXPECT_TRUE(same_bytes(small.read(), pattern(100)));
  EXPECT_TRUE(same_bytes(large.read(), pattern(200)));
}

WEIR_REQUIREMENT(1, 29, Copies, OfNothingDoNothing,
                 "A copy of 0 bytes succeeds and does nothing, also at the very end.") {
  const Memory a(100), b(100);
  a.write(pattern(100));
  const Stream stream;
  std::uint8_t host = 1;
  copy_in(stream, a, 100, &host, 0);
  copy_out(stream, &host, a, 100, 0);
  copy_on(stream, b, 100, a, 0, 0);
  copy_on(stream, a, 10, a, 10, 0);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(a.read(), pattern(100)));
  EXPECT_EQ(host, 1);
}

WEIR_REQUIREMENT(1, 37, Copies, OfNothingTakeNull,
                 "A copy of 0 bytes succeeds and does nothing, also with null for the host memory.") {
  const Memory memory(100);
  const Stream stream;
  const auto expect_taken = [](weir_result result, const weir_status& status) {
    EXPECT_EQ(result_name(result), "WEIR_OK")
        << last_slot() << " of 0 bytes with null for the host memory: " << status.message
        << ". driver.h: a size of 0 has no effect, whatever the host memory is. Look first at how it checks "
           "pointers";
  };
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{100}}) {
    weir_status status = new_status();
    expect_taken(table().copy_to_device(stream, memory, offset, nullptr, 0, &status), status);
    status = new_status();
    expect_taken(table().copy_to_host(stream, nullptr, memory, offset, 0, &status), status);
  }
  stream.synchronize();
}

WEIR_REQUIREMENT(1, 30, Copies, ToTheLastByte, "Copies reach the last byte of an allocation.") {
  const Memory a(100), b(100);
  a.write(Bytes(100, 0));
  const std::uint8_t mark = 77;
  const Stream stream;
  copy_in(stream, a, 99, &mark, 1);
  copy_on(stream, b, 99, a, 99, 1);
  std::uint8_t host = 0;
  copy_out(stream, &host, b, 99, 1);
  stream.synchronize();
  EXPECT_EQ(host, 77);
}

WEIR_REQUIREMENT(1, 31, Copies, OfManyMegabytesAreWhole,
                 "A copy of 48 MiB and a few bytes is whole in each direction.") {
  const std::uint64_t size = (48u << 20) + 5;
  const Bytes written = pattern(size);
  const Memory a(size), b(size);
  a.write(written);
  const Stream stream;
  copy_on(stream, b, 0, a, 0, size);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(b.read(), written));
}

}  // namespace
}  // namespace weir::conformance
