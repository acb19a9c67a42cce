// SPDX-License-Identifier: Apache-2.0
// Level 1: copies and fills whose sizes and offsets are next to powers of two, where drivers split work.
#include <bit>

#include "objects.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t usual_largest = 16u << 20;
std::uint64_t largest() {
  return judged().thorough ? 8 * usual_largest : usual_largest;
}

/// 2^k - 1, 2^k and 2^k + 1 for every k up to largest(), each once.
std::vector<std::uint64_t> around_powers_of_two() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t power = 1; power <= largest(); power *= 2)
    for (const std::uint64_t value : {power - 1, power, power + 1})
      if (all.empty() || value > all.back()) all.push_back(value);
  return all;
}

/// Two allocations with room for every size and offset, and the expected contents of both and of the host's
/// memory.
class Area {
 public:
  enum class Copy { to_device, on_device, to_host };

  /// Copies `size` bytes and checks the destination from one byte before the range to one byte after it.
  void copy(Copy kind, std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t size) {
    const std::span<const std::uint8_t> source = std::span(bytes_).subspan(from_offset, size);
    // Differs from the last byte of the range, the one that is lost most often, and from the first one.
    std::uint8_t guard = 0x5a;
    while (size && (guard == source.front() || guard == source.back())) ++guard;
    const std::uint64_t begin = to_offset ? to_offset - 1 : 0, end = to_offset + size + 1;
    found_.assign(end - begin, guard);
    if (kind != Copy::to_host) fill<std::uint8_t>(stream_, to_, begin, end - begin, guard);
    if (kind == Copy::to_device)
      call(table().copy_to_device, weir_stream(stream_), weir_allocation(to_), to_offset,
           static_cast<const void*>(source.data()), size);
    else if (kind == Copy::on_device)
      call(table().copy_on_device, weir_stream(stream_), weir_allocation(to_), to_offset,
           weir_allocation(from_), from_offset, size);
    if (kind == Copy::to_host)
      call(table().copy_to_host, weir_stream(stream_),
           static_cast<void*>(found_.data() + (to_offset - begin)), weir_allocation(from_), from_offset,
           size);
    else
      call(table().copy_to_host, weir_stream(stream_), static_cast<void*>(found_.data()),
           weir_allocation(to_), begin, end - begin);
    stream_.synchronize();
    expected_.assign(end - begin, guard);
    std::ranges::copy(source, expected_.begin() + static_cast<std::ptrdiff_t>(to_offset - begin));
    static constexpr const char* names[] = {"copy_to_device", "copy_on_device", "copy_to_host"};
    ASSERT_TRUE(same_bytes(found_, expected_))
        << names[static_cast<int>(kind)] << " of " << size << " bytes from offset " << from_offset
        << " to offset " << to_offset << " was submitted; read back from offset " << begin
        << ", one byte before the range, to one byte after it. Look first at where "
        << names[static_cast<int>(kind)] << " splits a copy into parts"
        << (kind == Copy::to_host
                ? ""
                : "; if C1.52 fails too, begin with fill, which wrote the destination before");
  }

  void fill_range(std::uint64_t offset, std::uint64_t size, std::uint32_t width) {
    const Bytes repeated = pattern(width, width);
    std::uint8_t guard = 0x5a;
    while (guard == repeated.front() || guard == repeated.back()) ++guard;
    const std::uint64_t begin = offset ? offset - 1 : 0, end = offset + size + 1;
    fill<std::uint8_t>(stream_, to_, begin, end - begin, guard);
    call(table().fill, weir_stream(stream_), weir_allocation(to_), offset, size,
         static_cast<const void*>(repeated.data()), width);
    found_.assign(end - begin, 0);
    call(table().copy_to_host, weir_stream(stream_), static_cast<void*>(found_.data()), weir_allocation(to_),
         begin, end - begin);
    stream_.synchronize();
    expected_.assign(end - begin, guard);
    for (std::uint64_t i = 0; i < size; ++i) expected_[offset - begin + i] = repeated[i % width];
    ASSERT_TRUE(same_bytes(found_, expected_))
        << "a fill of " << size << " bytes at offset " << offset << " with a pattern of " << width
        << " bytes was submitted; read back from offset " << begin
        << ", one byte before the range, to one byte after it. Look first at where fill splits its range";
  }

 private:
  const Bytes bytes_ = pattern(2 * largest() + 64);
  const Memory from_ = [this] {
    Memory memory(bytes_.size());
    memory.write(bytes_);
    return memory;
  }();
  const Memory to_{2 * largest() + 64};
  const Stream stream_;
  Bytes found_, expected_;
};

/// Copies of every size, and short copies at every offset.
void check_copies(Area::Copy kind) {
  Area area;
  std::uint64_t turn = 0;
  for (const std::uint64_t size : around_powers_of_two()) {
    // Ranges that begin at 0 and at odd places take turns.
    ++turn;
    area.copy(kind, turn % 2 ? 0 : 33, turn % 3 ? 0 : 21, size);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const std::uint64_t offset : around_powers_of_two())
    for (const std::uint64_t size : {1u, 3u, 64u}) {
      area.copy(kind, offset, 5, size);
      area.copy(kind, 5, offset, size);
      if (offset >= size) area.copy(kind, offset - size, offset, size);  // ends there
      if (testing::Test::HasFatalFailure()) return;
    }
  if (!judged().thorough) return;
  // Every pair of an offset and a size, and every size up to a few pages.
  for (const std::uint64_t offset : around_powers_of_two())
    for (const std::uint64_t size : around_powers_of_two()) {
      if (offset > (1u << 16) || size > (1u << 16)) continue;
      area.copy(kind, offset, 0, size);
      area.copy(kind, 0, offset, size);
      if (testing::Test::HasFatalFailure()) return;
    }
  for (std::uint64_t size = 0; size <= 20'000; ++size) {
    area.copy(kind, size % 17, size % 13, size);
    if (testing::Test::HasFatalFailure()) return;
  }
}

WEIR_REQUIREMENT(1, 32, Edges, CopiesToDeviceAroundPowersOfTwo,
                 "copy_to_device is exact for sizes and offsets of 2^k - 1, 2^k and 2^k + 1.") {
  check_copies(Area::Copy::to_device);
}
WEIR_REQUIREMENT(1, 33, Edges, CopiesOnDeviceAroundPowersOfTwo,
                 "copy_on_device is exact for sizes and offsets of 2^k - 1, 2^k and 2^k + 1.") {
  check_copies(Area::Copy::on_device);
}
WEIR_REQUIREMENT(1, 34, Edges, CopiesToHostAroundPowersOfTwo,
                 "copy_to_host is exact for sizes and offsets of 2^k - 1, 2^k and 2^k + 1.") {
  check_copies(Area::Copy::to_host);
}

WEIR_REQUIREMENT(
    1, 52, Edges, FillsAroundPowersOfTwo,
    "A fill is exact for sizes and offsets next to each power of two, with patterns of every size.") {
  Area area;
  for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u})
    for (std::uint64_t power = width; power <= largest(); power *= 2)
      for (const std::uint64_t size : {power - width, power, power + width}) {
        // Large ones with patterns of 1 and 16 bytes only, to save time.
        if (!judged().thorough && power > (1u << 20) && width != 1 && width != 16) continue;
        area.fill_range(std::countr_zero(power) % 2 ? 0 : 3 * width, size, width);
        area.fill_range(size, 3 * width, width);
        if (testing::Test::HasFatalFailure()) return;
      }
}

/// 3 and 5 times a power of two, powers of ten, and their neighbours: the sizes of buffers that are no power
/// of two.
std::vector<std::uint64_t> around_other_sizes(std::uint64_t max_size) {
  std::vector<std::uint64_t> all;
  const auto add = [&](std::uint64_t value) {
    if (value <= max_size) all.insert(all.end(), {value - 1, value, value + 1});
  };
  for (std::uint64_t power = 1; power <= max_size; power *= 2)
    for (const std::uint64_t factor : {3u, 5u}) add(factor * power);
  for (std::uint64_t power = 10; power <= max_size; power *= 10)
    for (const std::uint64_t factor : {1u, 2u, 4u}) add(factor * power);
  return all;
}

WEIR_REQUIREMENT(
    1, 35, Edges, CopiesAroundOtherSizes,
    "Copies are exact for sizes and offsets next to 3 and 5 times a power of two and next to 1, 2 and 4 "
    "times a power of ten.") {
  Area area;
  for (const Area::Copy kind : {Area::Copy::to_device, Area::Copy::on_device, Area::Copy::to_host})
    for (const std::uint64_t value :
         around_other_sizes(judged().thorough ? 2 * usual_largest : usual_largest / 4)) {
      area.copy(kind, 0, value % 2 ? 0 : 7, value);
      area.copy(kind, value, 3, 65);
      if (testing::Test::HasFatalFailure()) return;
    }
}

WEIR_REQUIREMENT(1, 36, Edges, RangesPastTheEndBy2To32AreInvalid,
                 "A copy or fill whose offset or size is 2^32 or more larger than one that fits returns "
                 "WEIR_ERROR_INVALID and changes nothing.") {
  const Memory memory(100), other(100);
  memory.write(pattern(100));
  other.write(pattern(100));
  Bytes host(100, 1);
  const std::uint8_t one = 1;
  const Stream stream;
  constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
  const std::uint64_t ranges[][2] = {{wrap, 1},      {0, wrap},       {0, wrap + 1},
                                     {wrap + 1, 50}, {50, wrap + 50}, {5 * wrap + 1, 3 * wrap + 2}};
  for (const auto& [offset, size] : ranges) {
    refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory), offset,
            static_cast<const void*>(host.data()), size);
    refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()),
            weir_allocation(memory), offset, size);
    refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory), offset,
            weir_allocation(other), std::uint64_t{0}, size);
    refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory),
            std::uint64_t{0}, weir_allocation(other), offset, size);
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), offset, size,
            static_cast<const void*>(&one), 1u);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << size << " bytes at offset " << offset << " of 100. Look first for numbers of 32 bits";
      break;
    }
  }
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), pattern(100)));
  EXPECT_EQ(host, Bytes(100, 1));
}

WEIR_REQUIREMENT(1, 53, Edges, EveryByteOfAPatternCounts,
                 "A fill repeats its whole pattern, whichever byte of it differs from the others.") {
  constexpr std::uint64_t size = 1024;
  const Memory memory(size);
  const Stream stream;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u})
    for (std::uint32_t other = 0; other < width; ++other)
      for (const std::uint8_t usual : {0x00, 0x11}) {
        Bytes repeated(width, usual), expected;
        repeated[other] = 0x22;
        while (expected.size() < size) expected.insert(expected.end(), repeated.begin(), repeated.end());
        call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0}, size,
             static_cast<const void*>(repeated.data()), width);
        stream.synchronize();
        ASSERT_TRUE(same_bytes(memory.read(), expected))
            << "a pattern of " << width << " equal bytes but for byte " << other
            << ". Look first at where fill looks for shorter patterns";
      }
}

}  // namespace
}  // namespace weir::conformance
