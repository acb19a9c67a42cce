// SPDX-License-Identifier: Apache-2.0
// Level 1: fills.
#include "objects.hpp"

namespace weir::conformance {
namespace {

/// The expected bytes of `memory`, `size` sevens, after the fill.
Bytes filled(std::uint64_t size, std::uint64_t offset, std::uint64_t count, const Bytes& repeated) {
  Bytes expected(size, 7);
  for (std::uint64_t i = 0; i < count; ++i) expected[offset + i] = repeated[i % repeated.size()];
  return expected;
}

void check_fill(std::uint32_t width, std::uint64_t offset, std::uint64_t count) {
  const std::uint64_t size = offset + count + 64;
  const Memory memory(size);
  memory.write(Bytes(size, 7));
  const Bytes repeated = pattern(width, width);
  const Stream stream;
  call(table().fill, weir_stream(stream), weir_allocation(memory), offset, count,
       static_cast<const void*>(repeated.data()), width);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), filled(size, offset, count, repeated)))
      << count << " bytes at " << offset << " with a pattern of " << width
      << " bytes: " << testing::PrintToString(memory.read(offset, std::min<std::uint64_t>(count, 64)));
}

#define WEIR_FILL(number, width, words)                                                                     \
  WEIR_REQUIREMENT(1, number, Fills, RepeatPatternsOf##width##Bytes,                                        \
                   "A fill repeats a pattern of " words " over its range and touches nothing around it.") { \
    for (const std::uint64_t count : {1u, 2u, 3u, 17u, 1000u, 70001u}) {                                    \
      check_fill(width, 0, count* width);                                                                   \
      check_fill(width, 3 * width, count * width);                                                          \
    }                                                                                                       \
  }
WEIR_FILL(40, 1, "1 byte")
WEIR_FILL(41, 2, "2 bytes")
WEIR_FILL(42, 4, "4 bytes")
WEIR_FILL(43, 8, "8 bytes")
WEIR_FILL(44, 16, "16 bytes")
#undef WEIR_FILL

WEIR_REQUIREMENT(
    1, 45, Fills, OtherPatternSizesAreInvalid,
    "A pattern of a size other than 1, 2, 4, 8 and 16 bytes returns WEIR_ERROR_INVALID and changes "
    "nothing, also if the size is one of these plus a power of two.") {
  const Memory memory(960);
  memory.write(pattern(960));
  const Bytes repeated(1024, 1);
  const Stream stream;
  for (const std::uint32_t width :
       {0u, 3u, 5u, 6u, 7u, 12u, 32u, 0x101u, 0x102u, 0x10001u, 0x1000004u, 0x80000008u})
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
            std::uint64_t{960}, static_cast<const void*>(repeated.data()), width);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(960)));
}

WEIR_REQUIREMENT(
    1, 46, Fills, RangesThatThePatternDoesNotDivideAreInvalid,
    "An offset or size that the pattern does not divide returns WEIR_ERROR_INVALID and changes nothing.") {
  const Memory memory(256);
  memory.write(pattern(256));
  const Bytes repeated(16, 1);
  const Stream stream;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u}) {
    const std::uint64_t half = width / 2;
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), half,
            std::uint64_t{64}, static_cast<const void*>(repeated.data()), width);
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
            64 + half, static_cast<const void*>(repeated.data()), width);
  }
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(256)));
}

WEIR_REQUIREMENT(
    1, 47, Fills, PastTheEndAreInvalid,
    "A fill past the end returns WEIR_ERROR_INVALID, also where offset + size wraps, and changes nothing.") {
  const Memory memory(100);
  memory.write(pattern(100));
  const std::uint8_t one = 1;
  const Stream stream;
  const std::uint64_t ranges[][2] = {{0, 101}, {1, 100}, {100, 1}, {101, 1}, {~0ull, 1}, {2, ~0ull}};
  for (const auto& [offset, size] : ranges)
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), offset, size,
            static_cast<const void*>(&one), 1u);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(100)));
  // Large memory may be taken in larger units.
  for (const std::uint64_t size : {(1ull << 20) + 1, (4ull << 20) + 1, (33ull << 20) - 1}) {
    const Memory large(size);
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(large), size,
            std::uint64_t{1}, static_cast<const void*>(&one), 1u);
  }
}

WEIR_REQUIREMENT(1, 48, Fills, OfNothingDoNothing,
                 "A fill of 0 bytes succeeds and does nothing, also at the very end.") {
  const Memory memory(64);
  memory.write(pattern(64));
  const Stream stream;
  fill<std::uint32_t>(stream, memory, 0, 0, 1);
  fill<std::uint32_t>(stream, memory, 64, 0, 1);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(64)));
}

WEIR_REQUIREMENT(1, 57, Fills, PatternsOfNothingAreChecked,
                 "A fill with a null pattern returns WEIR_ERROR_INVALID and changes nothing, and so does one "
                 "of 0 bytes whose "
                 "pattern has another size or does not divide the offset.") {
  if (raw_table().abi_version < WEIR_ABI_VERSION(1, 4))
    GTEST_SKIP() << unsupported_mark << "the contract did not say so before version 1.4";
  const Memory memory(64);
  memory.write(pattern(64));
  const Stream stream;
  for (const std::uint64_t size : {64u, 16u, 0u})
    for (const std::uint32_t width : {1u, 16u})
      refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory),
              std::uint64_t{0}, size, static_cast<const void*>(nullptr), width);
  const Bytes repeated(32, 1);
  const auto refused = [&](std::uint64_t offset, std::uint32_t width) {
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), offset,
            std::uint64_t{0}, static_cast<const void*>(repeated.data()), width);
  };
  for (const std::uint32_t width : {0u, 3u, 5u, 12u, 32u}) refused(0, width);
  for (const std::uint32_t width : {2u, 4u, 8u, 16u}) refused(width / 2, width);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(64)));
}

WEIR_REQUIREMENT(1, 49, Fills, ReadThePatternBeforeTheyReturn,
                 "The pattern is read before fill returns: it may be overwritten at once.") {
  const Memory memory(1u << 20);
  const Stream stream;
  std::uint64_t repeated = 0x0102030405060708;
  for (int i = 0; i < 8; ++i) {
    repeated = 0x0102030405060708 + static_cast<std::uint64_t>(i);
    call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         std::uint64_t{1u << 20}, static_cast<const void*>(&repeated), 8u);
    repeated = ~0ull;
  }
  stream.synchronize();
  const auto words = memory.values<std::uint64_t>();
  EXPECT_EQ(std::ranges::count(words, 0x0102030405060708 + 7), static_cast<std::ptrdiff_t>(words.size()));
}

WEIR_REQUIREMENT(1, 50, Fills, OfManyMegabytesAreWhole, "A fill of 96 MiB is whole.") {
  const std::uint64_t size = 96u << 20;
  const Memory memory(size);
  const Stream stream;
  fill<std::uint32_t>(stream, memory, 0, size, 0x01020304);
  stream.synchronize();
  const auto words = memory.values<std::uint32_t>();
  const auto wrong = std::ranges::find_if(words, [](std::uint32_t word) { return word != 0x01020304; });
  EXPECT_EQ(wrong, words.end())
      << "after a fill of 96 MiB with words of 0x01020304 and stream_synchronize, word "
      << wrong - words.begin() << " of " << words.size() << " is " << (wrong == words.end() ? 0 : *wrong)
      << ". The fill was incomplete when stream_synchronize returned, or it does not write its whole range. "
         "Look first at when a fill counts as complete";
}

}  // namespace
}  // namespace weir::conformance
