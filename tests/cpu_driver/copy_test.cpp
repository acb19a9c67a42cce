// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "support.hpp"

namespace cpu_test {

constexpr std::uint64_t zero = 0;

// proves R2
TEST(Copy, RoundTripsInOrderForSizesAroundABlock) {
  for (const std::size_t count : {1u, 1000u, 131'072u, 131'073u, 1'000'003u}) {
    std::vector<std::uint32_t> there(count), back(count);
    std::iota(there.begin(), there.end(), 1u);
    Memory a(count * 4), b(count * 4);
    Stream stream;
    const std::uint64_t bytes = count * 4;
    call(table().copy_to_device, weir_stream(stream), weir_allocation(a), zero,
         static_cast<const void*>(there.data()), bytes);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(b), zero, weir_allocation(a), zero, bytes);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(back.data()), weir_allocation(b), zero, bytes);
    stream.synchronize();
    EXPECT_EQ(there, back) << count;
  }
}

// The stream uses the operation of an ended launch again, which had arguments of its own.
TEST(Copy, FollowsALaunchWithLargeArguments) {
  Memory memory(64);
  Stream stream;
  for (int i = 0; i < 4; ++i) {
    std::uint32_t sum = 0;
    LargeArguments large{&sum, {}};
    large.values[7] = 5;
    stream.launch(kernels().sum_large, large);
    stream.synchronize();
    EXPECT_EQ(sum, 5u);
    call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), zero,
         static_cast<const void*>(&sum), std::uint64_t{4});
    stream.synchronize();
    EXPECT_EQ(*memory.as<std::uint32_t>(), 5u);
  }
}

TEST(Copy, KeepsToItsRange) {
  Memory memory(64);
  std::memset(memory.as<char>(), 'a', 64);
  Stream stream;
  call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{10},
       static_cast<const void*>("bbbb"), std::uint64_t{4});
  stream.synchronize();
  EXPECT_EQ(std::string(memory.as<char>() + 8, 8), "aabbbbaa");
}

// proves R35
TEST(Copy, RefusesRangesOutsideBeforeAnythingIsSubmitted) {
  Memory memory(64);
  Stream stream;
  char host[128] = {};
  struct Range {
    std::uint64_t offset, size;
  };
  for (const Range range : {Range{0, 65}, Range{64, 1}, Range{65, 0}, Range{~std::uint64_t{0}, 2},
                            Range{1, ~std::uint64_t{0}}}) {
    refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory), range.offset,
            static_cast<const void*>(host), range.size);
    refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(host),
            weir_allocation(memory), range.offset, range.size);
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), range.offset, range.size,
            static_cast<const void*>(host), 1u);
  }
  EXPECT_TRUE(stream.done());
}

// proves R35
TEST(Copy, RefusesNullsAndOverlap) {
  Memory memory(64);
  Stream stream;
  const void* nothing = nullptr;
  refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory), zero, nothing,
          std::uint64_t{4});
  refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory), zero,
          weir_allocation(memory), std::uint64_t{16}, std::uint64_t{17});
  call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), zero, weir_allocation(memory),
       std::uint64_t{16}, std::uint64_t{16});
  stream.synchronize();
}

TEST(Copy, OfNothingDoesNothing) {
  Memory memory(64);
  Stream stream;
  const void* nothing = nullptr;
  call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{64}, nothing, zero);
  EXPECT_TRUE(stream.done());
}

TEST(Fill, RepeatsPatternsOfEverySize) {
  const char pattern[] = "0123456789abcdef";
  for (const std::uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    Memory memory(96);
    std::memset(memory.as<char>(), '-', 96);
    Stream stream;
    call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{16}, std::uint64_t{48},
         static_cast<const void*>(pattern), size);
    stream.synchronize();
    std::string expected(16, '-');
    while (expected.size() < 64) expected.append(pattern, size);
    expected.append(32, '-');
    EXPECT_EQ(std::string(memory.as<char>(), 96), expected) << size;
  }
}

TEST(Fill, CoversLargeRangesOnAllCores) {
  constexpr std::uint64_t count = 3'000'001;
  Memory memory(count * 4);
  const std::uint32_t value = 0xabcd1234;
  Stream stream;
  call(table().fill, weir_stream(stream), weir_allocation(memory), zero, count * 4, static_cast<const void*>(&value),
       4u);
  stream.synchronize();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) wrong += memory.as<std::uint32_t>()[i] != value;
  EXPECT_EQ(wrong, 0u);
}

// proves R35
TEST(Fill, RefusesBadPatterns) {
  Memory memory(64);
  Stream stream;
  const char pattern[32] = {};
  for (const std::uint32_t size : {0u, 3u, 5u, 32u})
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), zero, std::uint64_t{60},
            static_cast<const void*>(pattern), size);
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{2},
          std::uint64_t{4}, static_cast<const void*>(pattern), 4u);
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), zero, std::uint64_t{6},
          static_cast<const void*>(pattern), 4u);
  const void* none = nullptr;
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), zero, std::uint64_t{4}, none,
          4u);
}

}  // namespace cpu_test
