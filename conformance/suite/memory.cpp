// SPDX-License-Identifier: Apache-2.0
// Level 1: allocations.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>

#include "kernels/gate.hpp"
#include "objects.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(1, 01, Memory, IsAllocatedInEverySize,
                 "Memory of 1 byte to 64 MiB can be allocated, written, read and freed.") {
  for (const std::uint64_t size : {1ull, 3ull, 63ull, 64ull, 65ull, 4096ull, 1000003ull, 64ull << 20}) {
    const Memory memory(size);
    const Bytes written = pattern(std::min<std::uint64_t>(size, 1u << 20));
    memory.write(written, size - written.size());
    EXPECT_TRUE(same_bytes(memory.read(size - written.size(), written.size()), written))
        << "of " << size << " bytes";
  }
}

WEIR_REQUIREMENT(1, 02, Memory, TellsItsSizeAndKind,
                 "memory_get_info returns the requested size and the kind.") {
  // Odd sizes of several magnitudes, since large memory may be taken in larger units.
  for (const std::uint64_t size : {100ull, 12345ull, (1ull << 20) + 1, (4ull << 20) + 1, (33ull << 20) - 1}) {
    const Memory memory(size);
    EXPECT_EQ(memory.info().size, size) << "is the size that memory_get_info returns, and the size asked for";
    EXPECT_EQ(memory.info().kind, std::uint32_t{WEIR_MEMORY_DEVICE});
  }
}

WEIR_REQUIREMENT(
    1, 03, Memory, InfoStaysInsideTheCallersSize,
    "memory_get_info writes no further than the struct_size that the caller sets, and returns no "
    "larger one.") {
  const Memory memory(64);
  for (const std::uint32_t size : {4u, 8u, 12u, 16u, 20u, 24u, 28u}) {
    auto filled = guarded<weir_memory_info>(size);
    call(table().memory_get_info, weir_allocation(memory), &filled);
    ASSERT_NO_FATAL_FAILURE(expect_guarded(filled, size));
    EXPECT_LE(filled.struct_size, size)
        << "memory_get_info set struct_size to " << filled.struct_size << "; the caller set " << size
        << ", and nothing past it is filled. driver.h: a reader never reads past struct_size";
    EXPECT_TRUE(size < 16 || filled.size == 64u) << filled.size;
  }
}

WEIR_REQUIREMENT(1, 04, Memory, AddressesAreAligned, "Device addresses are multiples of memory_alignment.") {
  needs(WEIR_CAP_DEVICE_ADDRESS);
  std::vector<Memory> held;
  for (const std::uint64_t size : {1u, 7u, 64u, 100u, 4097u}) {
    held.emplace_back(size);
    EXPECT_NE(held.back().info().device_address, 0u);
    EXPECT_EQ(held.back().info().device_address % info().memory_alignment, 0u) << "of " << size << " bytes";
  }
}

WEIR_REQUIREMENT(1, 05, Memory, WithoutAddressesGivesNone, "Without DEVICE_ADDRESS, device_address is 0.") {
  if (has(WEIR_CAP_DEVICE_ADDRESS)) throw Skipped("the device offers DEVICE_ADDRESS");
  EXPECT_EQ(Memory(64).info().device_address, 0u);
}

WEIR_REQUIREMENT(1, 06, Memory, SizeOfZeroIsInvalid,
                 "An allocation of 0 bytes returns WEIR_ERROR_INVALID and leaves the output alone.") {
  weir_memory_options options = memory_options(0);
  const auto mark = reinterpret_cast<weir_allocation>(&options);
  weir_allocation out = mark;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, device(),
          static_cast<const weir_memory_options*>(&options), &out);
  EXPECT_EQ(out, mark);
}

WEIR_REQUIREMENT(4, 38, AsyncMemory, HugeSizesAreOutOfMemory,
                 "memory_allocate_async of more than is available returns WEIR_ERROR_OUT_OF_MEMORY, also of "
                 "sizes near 2^64, and the stream stays usable.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const std::uint64_t most = ~std::uint64_t{0};
  for (const std::uint64_t size : {most, most - 1, most - 7, most - 62, most - 63, most - 64, most - 255,
                                   most - 4095, std::uint64_t{1} << 60}) {
    const weir_memory_options options = memory_options(size);
    weir_allocation out = nullptr;
    refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate_async, weir_stream(stream), &options, &out);
    if (HasFailure()) {
      ADD_FAILURE() << "for " << size << " bytes. Look first at sizes that are rounded up";
      return;
    }
  }
  const Memory memory(64);
  fill<std::uint8_t>(stream, memory, 0, 64, 2);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 2)));
}

WEIR_REQUIREMENT(1, 07, Memory, HugeSizesAreOutOfMemory,
                 "More than is available returns WEIR_ERROR_OUT_OF_MEMORY, with a message that names the "
                 "memory, and leaves the output alone; the device stays usable.") {
  for (const std::uint64_t size : {~std::uint64_t{0}, std::uint64_t{1} << 60, info().total_memory * 16}) {
    weir_memory_options options = memory_options(size);
    const auto mark = reinterpret_cast<weir_allocation>(&options);
    weir_allocation out = mark;
    const std::string message = refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate, device(),
                                        static_cast<const weir_memory_options*>(&options), &out);
    EXPECT_TRUE(message.find("device") != std::string::npos || message.find("host") != std::string::npos)
        << "driver.h: the message states which memory is short, that of the device or of the host: "
        << message;
    EXPECT_EQ(out, mark) << "for " << size << " bytes";
  }
  const Memory small(1024);
  small.write(pattern(1024));
  EXPECT_TRUE(same_bytes(small.read(), pattern(1024)));
}

WEIR_REQUIREMENT(1, 08, Memory, AllocationsAreApart,
                 "Allocations do not share memory: writes to one leave the others unchanged.") {
  std::vector<Memory> held;
  for (std::uint32_t i = 0; i < 32; ++i) {
    held.emplace_back(1000 + 77 * (7 - i % 7));
    held.back().write(pattern(1000 + 77 * (7 - i % 7), i));
  }
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_TRUE(same_bytes(held[i].read(), pattern(1000 + 77 * (7 - i % 7), i))) << "allocation " << i;
}

WEIR_REQUIREMENT(1, 09, Memory, FreedMemoryComesBack,
                 "Freed memory can be allocated again, far more often than it would fit at once.") {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t size = std::min<std::uint64_t>(free / 8, 1u << 30);
  for (int i = 0; i < 64; ++i) {
    const Memory memory(size);
    EXPECT_EQ(memory.info().size, size);
  }
}

/// Allocates and frees a 128th of the memory at a time, five quarters of it in all, for 2 seconds at most,
/// because pinning is slow. Free memory is a hint, and other processes use memory at the same time. So a loss
/// of half of the allocated memory passes, up to three quarters of the free memory.
template <class Round>
void expect_free_again(const char* what, const Round& round) {
  std::uint64_t before = 0, total = 0, after = 0;
  call(table().device_get_memory, device(), &before, &total);
  if (before < total / 4) throw Skipped("less than a quarter of the memory is free");
  std::uint64_t rounds = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (rounds < 160 && std::chrono::steady_clock::now() < limit) round(total / 128), ++rounds;
  const std::uint64_t loss = std::min(std::max(rounds * (total / 128) / 2, total / 8), before / 4 * 3);
  const bool free_again = eventually([&] {
    call(table().device_get_memory, device(), &after, &total);
    return after + loss >= before;
  });
  EXPECT_TRUE(free_again) << rounds << " times, a 128th of the memory was allocated and freed with " << what
                          << "; device_get_memory reported " << before << " free bytes before and " << after
                          << " after, of " << total << ". Look first at what counts allocated memory";
}

WEIR_REQUIREMENT(1, 63, Memory, FreedMemoryIsFree,
                 "Memory that was allocated and freed counts as free again.") {
  expect_free_again("memory_allocate and memory_free", [](std::uint64_t size) { const Memory memory(size); });
}

WEIR_REQUIREMENT(1, 97, Memory, FreedAlignedMemoryIsFree,
                 "Memory that was allocated with a large alignment and freed counts as free again.") {
  needs_version(1);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t alignment = std::min<std::uint64_t>(std::bit_floor(total / 128), 1u << 30);
  const weir_memory_options options = memory_options(256, WEIR_MEMORY_DEVICE, alignment);
  const auto allocate = [&](weir_allocation* out) {
    return result_of(table().memory_allocate, device(), &options, out);
  };
  weir_allocation probe = nullptr;
  const weir_result result = allocate(&probe);
  if (result == WEIR_ERROR_UNSUPPORTED || result == WEIR_ERROR_OUT_OF_MEMORY)
    throw Unsupported("the device does not keep an alignment of " + std::to_string(alignment));
  if (result == WEIR_OK) Memory(probe).destroy();
  expect_free_again("memory_allocate with an alignment of that size between smaller blocks, and memory_free",
                    [&](std::uint64_t) {
                      const Memory before(256);
                      Memory first(weir_allocation{}), second(weir_allocation{});
                      if (allocate(first.out()) != WEIR_OK || allocate(second.out()) != WEIR_OK)
                        ADD_FAILURE() << "memory_allocate of 256 bytes with alignment " << alignment
                                      << " failed, although earlier ones were freed";
                    });
}

/// Allocations that are refused although they are no larger than the memory. So many that a mebibyte of each
/// would be missed.
void expect_refusals_to_take_nothing() {
  const Memory live(1u << 20);
  std::uint64_t before = 0, after = 0, total = 0;
  call(table().device_get_memory, device(), &before, &total);
  const weir_memory_options options = memory_options(total);
  std::uint64_t refused = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (; refused < total >> 22 && std::chrono::steady_clock::now() < limit; ++refused) {
    weir_allocation out = nullptr;
    if (result_of(table().memory_allocate, device(), &options, &out) != WEIR_OK) continue;
    call(table().memory_free, out);
    return;  // the device allocates more than there is
  }
  EXPECT_TRUE(eventually([&] {
    call(table().device_get_memory, device(), &after, &total);
    return after + total / 8 >= before;
  })) << refused
      << " times, memory_allocate of all of the memory was refused while some was in use; "
         "device_get_memory reported "
      << before << " free bytes before and " << after << " after, of " << total
      << ". Look first at what a refused allocation has counted before";
}

WEIR_REQUIREMENT(1, 64, Memory, RefusedAllocationsTakeNothing,
                 "Memory for which an allocation was refused stays free.") {
  // A driver of version 1.0 may accept one of them.
  expect_free_again("memory_allocate with an alignment of 3 and with an unknown kind",
                    [](std::uint64_t size) {
                      for (const weir_memory_options& options :
                           {memory_options(size, WEIR_MEMORY_DEVICE, 3), memory_options(size, 4711)}) {
                        weir_allocation out = nullptr;
                        if (result_of(table().memory_allocate, device(), &options, &out) == WEIR_OK)
                          call(table().memory_free, out);
                      }
                    });
  expect_refusals_to_take_nothing();
}

WEIR_REQUIREMENT(4, 27, Memory, FreedMemoryOfOtherKindsIsFree,
                 "Pinned and stream-ordered memory that was allocated and freed counts as free again.") {
  if (!has(WEIR_CAP_PINNED_MEMORY) && !has(WEIR_CAP_STREAM_ORDERED_ALLOCATION))
    throw Unsupported("the device has neither PINNED_MEMORY nor STREAM_ORDERED_ALLOCATION");
  if (has(WEIR_CAP_PINNED_MEMORY))
    expect_free_again("memory_allocate of pinned memory and memory_free",
                      [](std::uint64_t size) { const Memory memory(size, WEIR_MEMORY_PINNED); });
  if (!has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) return;
  const Stream stream;
  for (const bool free_in_order : {true, false})
    expect_free_again(free_in_order ? "memory_allocate_async and memory_free_async"
                                    : "memory_allocate_async and memory_free",
                      [&](std::uint64_t size) {
                        const weir_memory_options options = memory_options(size);
                        weir_allocation memory = nullptr;
                        call(table().memory_allocate_async, weir_stream(stream), &options, &memory);
                        if (free_in_order) call(table().memory_free_async, weir_stream(stream), memory);
                        stream.synchronize();
                        if (!free_in_order) call(table().memory_free, memory);
                      });
}

WEIR_REQUIREMENT(1, 10, Memory, HostPointerSeesTheMemory,
                 "If host_pointer is set, the host reads the data of the device's copies through it.") {
  const Memory memory(4096);
  if (!memory.info().host_pointer) throw Unsupported("memory of the device has no host_pointer");
  memory.write(pattern(4096));
  EXPECT_EQ(std::memcmp(memory.info().host_pointer, pattern(4096).data(), 4096), 0);
}

WEIR_REQUIREMENT(1, 11, Memory, AlignmentIsKept,
                 "An alignment up to memory_alignment that options name is kept.") {
  needs(WEIR_CAP_DEVICE_ADDRESS);
  for (std::uint64_t alignment = 1; alignment <= info().memory_alignment; alignment *= 2) {
    const weir_memory_options options = memory_options(100, WEIR_MEMORY_DEVICE, alignment);
    weir_allocation out = nullptr;
    call(table().memory_allocate, device(), static_cast<const weir_memory_options*>(&options), &out);
    const Memory owned(out);
    EXPECT_EQ(owned.info().device_address % info().memory_alignment, 0u)
        << "alignment " << alignment << " was asked for";
  }
}

using Allocate = std::function<weir_result(const weir_memory_options&, weir_allocation*, weir_status*)>;

/// Allocates in `held` and checks the address. An alignment above memory_alignment may be refused; then it
/// returns false, also if there is no room for a block of a large alignment.
bool is_aligned_or_refused(const weir_memory_options& options, const Allocate& allocate,
                           std::vector<Memory>& held) {
  constexpr std::uint64_t usual = 2u << 20;
  weir_allocation out = nullptr;
  weir_status status = new_status();
  const weir_result result = allocate(options, &out, &status);
  if (result == WEIR_ERROR_UNSUPPORTED && options.alignment > info().memory_alignment) return false;
  if (result == WEIR_ERROR_OUT_OF_MEMORY && options.alignment > usual) return false;
  if (result != WEIR_OK) fail_call(result, status);
  held.emplace_back(out);
  const weir_memory_info placed = held.back().info();
  const std::uint64_t kept = std::max<std::uint64_t>(options.alignment, info().memory_alignment);
  EXPECT_EQ(placed.device_address % kept, 0u)
      << "memory of " << options.size << " bytes with alignment " << options.alignment
      << " has device_address " << placed.device_address
      << "; driver.h: a multiple of the requested alignment and of memory_alignment ("
      << info().memory_alignment << "), unless a larger alignment is refused with WEIR_ERROR_UNSUPPORTED";
  return true;
}

/// Allocates with every alignment up to 2 MiB, and less often with every one up to `largest` that leaves
/// most of the device's memory free. Those above 1 GiB are refused or kept, and memory for them may be short.
void check_alignments(std::uint32_t kind, std::uint64_t largest, const Allocate& allocate) {
  constexpr std::uint64_t usual = 2u << 20;
  for (int bit = 31; bit < 64; ++bit) {
    const weir_memory_options options = memory_options(100, kind, std::uint64_t{1} << bit);
    weir_allocation out = nullptr;
    const weir_result result = result_of(allocate, options, &out);
    if (result == WEIR_ERROR_UNSUPPORTED) continue;
    // No memory of the device has an alignment of more than its size: that one cannot be short.
    if (result == WEIR_ERROR_OUT_OF_MEMORY && options.alignment < info().total_memory) continue;
    EXPECT_EQ(result_name(result), "WEIR_OK")
        << "for the alignment 2^" << bit << "; driver.h: a power of two above memory_alignment is kept, or "
        << "refused with WEIR_ERROR_UNSUPPORTED";
    if (result != WEIR_OK) return;
    const Memory held(out);
    EXPECT_EQ(held.info().device_address % options.alignment, 0u) << "the alignment is 2^" << bit;
  }
  for (std::uint64_t alignment = 1; alignment <= usual; alignment *= 2)
    for (const std::uint64_t size : {1u, 100u, 70'000u}) {
      std::vector<Memory> held;  // a single allocation may be aligned by chance
      for (int i = 0; i < 4; ++i)
        if (!is_aligned_or_refused(memory_options(size, kind, alignment), allocate, held)) return;
    }
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  for (std::uint64_t alignment = 2 * usual; alignment <= largest && alignment <= free / 16; alignment *= 2) {
    std::vector<Memory> held;
    // Without the small blocks, the second block could follow the first one.
    for (const std::uint64_t of : {alignment, std::uint64_t{0}, alignment, std::uint64_t{0}})
      if (!is_aligned_or_refused(memory_options(256, kind, of), allocate, held)) return;
    // Drivers take large memory in other ways than small memory.
    for (const std::uint64_t size : {1u << 20, (4u << 20) + 1, 9u << 20})
      if (!is_aligned_or_refused(memory_options(size, kind, alignment), allocate, held)) return;
  }
}

WEIR_REQUIREMENT(1, 17, Memory, UnknownKindsAreRefused,
                 "Memory of a kind that driver.h does not name returns WEIR_ERROR_INVALID or "
                 "WEIR_ERROR_UNSUPPORTED and leaves the output alone.") {
  for (const std::uint32_t kind : {WEIR_MEMORY_PINNED + 1u, 0x100u, 0x10000u, 0x80000000u, ~0u}) {
    const weir_memory_options options = memory_options(100, kind);
    weir_allocation out = nullptr;
    const weir_result result = result_of(table().memory_allocate, device(), &options, &out);
    const Memory owned(out);
    EXPECT_TRUE(result == WEIR_ERROR_INVALID || result == WEIR_ERROR_UNSUPPORTED)
        << "memory_allocate with options.kind " << kind << " returned " << result_name(result)
        << ". Look first at how it reads options.kind";
    EXPECT_EQ(out, nullptr) << "with options.kind " << kind;
  }
}

WEIR_REQUIREMENT(
    1, 18, Memory, MemoryInUseIsNotFree,
    "While memory is allocated, device_get_memory reports no more than the rest of the total as free.") {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t size = std::min<std::uint64_t>(free / 4, 64u << 20);
  const Memory memory(size);
  const Stream stream;
  fill<std::uint8_t>(stream, memory, 0, size, 1);  // some systems count memory when it is first written
  stream.synchronize();
  call(table().device_get_memory, device(), &free, &total);
  EXPECT_LE(free, total - size)
      << "of " << total << " bytes, " << size << " are allocated and written; device_get_memory reports "
      << free
      << " as free. driver.h: free and total memory at present. Look first at where "
         "device_get_memory gets *out_free from";
}

WEIR_REQUIREMENT(1, 13, Memory, LargeAlignmentsAreKeptOrRefused,
                 "An alignment above memory_alignment is kept, or refused with WEIR_ERROR_UNSUPPORTED.") {
  needs_version(1);
  needs(WEIR_CAP_DEVICE_ADDRESS);
  for (const std::uint32_t kind : {std::uint32_t{WEIR_MEMORY_DEVICE}, std::uint32_t{WEIR_MEMORY_PINNED}}) {
    if (kind == WEIR_MEMORY_PINNED && !has(WEIR_CAP_PINNED_MEMORY)) continue;
    const std::uint64_t largest = kind == WEIR_MEMORY_PINNED ? 32u << 20 : 1u << 30;  // pinning is slow
    check_alignments(kind, largest,
                     [](const weir_memory_options& options, weir_allocation* out, weir_status* status) {
                       return table().memory_allocate(device(), &options, out, status);
                     });
  }
}

WEIR_REQUIREMENT(
    1, 14, Memory, OtherAlignmentsAreInvalid,
    "An alignment that is no power of two returns WEIR_ERROR_INVALID and leaves the output alone.") {
  needs_version(1);
  for (const std::uint64_t alignment :
       {std::uint64_t{3}, std::uint64_t{48}, std::uint64_t{63}, std::uint64_t{65}, std::uint64_t{96},
        std::uint64_t{192}, std::uint64_t{320}, std::uint64_t{4097}, std::uint64_t{3 * 4096},
        ~std::uint64_t{0}}) {
    const weir_memory_options options = memory_options(100, WEIR_MEMORY_DEVICE, alignment);
    weir_allocation out = nullptr;
    refusal(WEIR_ERROR_INVALID, table().memory_allocate, device(), &options, &out);
  }
}

WEIR_REQUIREMENT(4, 10, AsyncMemory, AlignmentsAreKeptOrRefused,
                 "memory_allocate_async keeps alignments as memory_allocate does.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_DEVICE_ADDRESS);
  const Stream stream;
  check_alignments(WEIR_MEMORY_DEVICE, 1u << 30,
                   [&](const weir_memory_options& options, weir_allocation* out, weir_status* status) {
                     return table().memory_allocate_async(stream, &options, out, status);
                   });
  stream.synchronize();
}

WEIR_REQUIREMENT(1, 12, Memory, InfoStaysTheSame,
                 "memory_get_info returns the same at every call, whatever is done with the memory.") {
  const Memory memory(5000);
  const weir_memory_info first = memory.info();
  for (std::uint32_t i = 0; i < 3; ++i) {
    memory.write(pattern(5000, i));
    const Memory other(100);
    const weir_memory_info later = memory.info();
    EXPECT_EQ(later.kind, first.kind);
    EXPECT_EQ(later.size, first.size);
    EXPECT_EQ(later.device_address, first.device_address);
    EXPECT_EQ(later.host_pointer, first.host_pointer);
  }
}

enum class Way : std::uint8_t { host_copy, fill, device_copy, host_pointer };
constexpr Way all_ways[] = {Way::host_copy, Way::fill, Way::device_copy, Way::host_pointer};
constexpr const char* write_names[] = {"copy_to_device", "fill", "copy_on_device", "host_pointer"};

/// Fills memory in that way, with other bytes for each way, and waits. Returns the bytes.
Bytes write_in(Way way, const Memory& memory, const Memory& other, const Stream& stream) {
  const auto number = static_cast<std::uint32_t>(way);
  const Bytes bytes = way == Way::fill ? Bytes(memory.size(), 0x5a) : pattern(memory.size(), 1 + number);
  switch (way) {
    case Way::host_copy:
      memory.write(bytes);
      break;
    case Way::fill:
      fill<std::uint8_t>(stream, memory, 0, memory.size(), 0x5a);
      break;
    case Way::device_copy:
      other.write(bytes);
      call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
           weir_allocation(other), std::uint64_t{0}, memory.size());
      break;
    case Way::host_pointer:
      std::memcpy(memory.info().host_pointer, bytes.data(), bytes.size());
  }
  stream.synchronize();
  return bytes;
}

WEIR_REQUIREMENT(1, 65, Memory, AnEarlierLifeLeavesNothing,
                 "Memory that was freed and allocated again delivers the bytes that were written since then, "
                 "whichever way an earlier allocation of it was written and read.") {
  constexpr std::uint64_t size = 4096;
  const Memory other(size);
  const Stream stream;
  for (const std::uint32_t kind : {std::uint32_t{WEIR_MEMORY_DEVICE}, std::uint32_t{WEIR_MEMORY_PINNED}}) {
    if (kind == WEIR_MEMORY_PINNED && !has(WEIR_CAP_PINNED_MEMORY)) continue;
    const bool host_access = Memory(size, kind).info().host_pointer != nullptr;
    for (const Way first : all_ways)
      for (const Way second : all_ways) {
        if (!host_access && (first == Way::host_pointer || second == Way::host_pointer)) continue;
        for (const bool read_by_host : {false, true}) {
          if (read_by_host && !host_access) continue;
          for (const Way way : {first, second, first}) {
            const Memory memory(size, kind);
            const Bytes written = write_in(way, memory, other, stream);
            const auto* const host = static_cast<const std::uint8_t*>(memory.info().host_pointer);
            ASSERT_TRUE(same_bytes(read_by_host ? Bytes(host, host + size) : memory.read(), written))
                << "of memory that was written by " << write_names[static_cast<int>(way)] << " and read by "
                << (read_by_host ? "host_pointer" : "copy_to_host")
                << "; earlier allocations of this size were written by "
                << write_names[static_cast<int>(first)] << " and " << write_names[static_cast<int>(second)]
                << ", and freed. Look first at what the driver keeps of an allocation after memory_free, and "
                   "of its contents while the host may write";
          }
        }
      }
  }
}

}  // namespace
}  // namespace weir::conformance
