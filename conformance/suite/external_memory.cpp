// SPDX-License-Identifier: Apache-2.0
// Level 4: memory that the driver does not own. The suite lends the driver memory of its own allocations.
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

Bytes read(const Memory& memory, std::uint64_t size) {
  return memory.read(0, size);
}

WEIR_REQUIREMENT(
    4, 50, ExternalMemory, IsTheMemoryItself,
    "Copies and fills of external memory read and write the memory itself, in both directions.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(100'000);
  owner.write(pattern(100'000));
  const Memory external = wrapped(owner, 0, 100'000);
  EXPECT_TRUE(same_bytes(read(external, 100'000), pattern(100'000)));
  const Stream stream;
  fill<std::uint32_t>(stream, external, 4000, 40'000, 0x01020304);
  stream.synchronize();
  Bytes expected = pattern(100'000);
  for (std::size_t i = 0; i < 40'000; ++i) expected[4000 + i] = static_cast<std::uint8_t>(4 - i % 4);
  EXPECT_TRUE(same_bytes(owner.read(), expected));
  fill<std::uint8_t>(stream, owner, 0, 100'000, 9);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(read(external, 100'000), Bytes(100'000, 9)));
}

WEIR_REQUIREMENT(4, 51, ExternalMemory, OutlivesItsAllocation,
                 "memory_free of external memory leaves the memory and its contents to their owner.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(65536);
  owner.write(pattern(65536));
  for (int i = 0; i < 100; ++i) {
    Memory external = wrapped(owner, 0, 65536);
    call(table().memory_free, external.release());
  }
  const Memory other(65536);  // would receive memory that was freed
  const Stream stream;
  fill<std::uint8_t>(stream, other, 0, 65536, 77);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(owner.read(), pattern(65536)));
}

WEIR_REQUIREMENT(
    4, 52, ExternalMemory, IsFreedInStreamOrder,
    "memory_free_async of external memory returns at once, earlier work of the stream is done, and the "
    "memory keeps its contents.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Memory owner(4096);
  const Stream stream;
  Memory external = wrapped(owner, 0, 4096);
  Gate gate;
  gate.hold(stream);
  fill<std::uint8_t>(stream, external, 0, 4096, 5);
  call(table().memory_free_async, weir_stream(stream), external.release());
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held the stream back";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(owner.read(), Bytes(4096, 5)));
  // Work that runs, without anything that waits before it.
  constexpr std::uint64_t large = 64u << 20;
  const Memory much(large);
  const Stream reading;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    Memory all = wrapped(much, 0, large);
    fill<std::uint8_t>(stream, all, 0, large, 9);
    fill<std::uint8_t>(stream, all, 0, large, i);
    call(table().memory_free_async, weir_stream(stream), all.release());
    stream.synchronize();
    EXPECT_TRUE(same_bytes(read_through(reading, much, large - 64, 64), Bytes(64, i)))
        << "after two fills of external memory of " << large
        << " bytes, its memory_free_async and stream_synchronize, the last bytes are not those of the second "
           "fill. Look first at the mark that memory_free_async of external memory reaches";
  }
}

WEIR_REQUIREMENT(
    4, 53, ExternalMemory, TellsItsPlace,
    "memory_get_info of external device memory returns its size, WEIR_MEMORY_DEVICE and its address.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(5000);
  const Memory external = wrapped(owner, 24, 4001);
  const weir_memory_info found = external.info();
  EXPECT_EQ(found.size, 4001u);
  EXPECT_EQ(found.kind, std::uint32_t{WEIR_MEMORY_DEVICE});
  EXPECT_EQ(found.device_address, owner.info().device_address + 24);
}

WEIR_REQUIREMENT(4, 54, ExternalMemory, HasAnyAlignment,
                 "External memory may begin and end at any byte. Several allocations may contain the same "
                 "bytes, and other "
                 "bytes of one are copied to those of the other.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(1000);
  const Stream stream;
  fill<std::uint8_t>(stream, owner, 0, 1000, 1);
  stream.synchronize();
  Bytes expected(1000, 1);
  std::uint8_t value = 10;
  for (const std::uint64_t begin : {1, 3, 500, 66}) {
    const Memory external = wrapped(owner, begin, 301), same = wrapped(owner, begin, 301);
    fill<std::uint8_t>(stream, external, 0, 301, ++value);
    stream.synchronize();
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(begin), 301, value);
    EXPECT_TRUE(same_bytes(read(same, 301), Bytes(301, value)));
  }
  EXPECT_TRUE(same_bytes(owner.read(), expected));
  const Memory one = wrapped(owner, 0, 1000), other = wrapped(owner, 0, 1000);
  fill<std::uint8_t>(stream, one, 600, 300, 5);
  const weir_result copied =
      result_of(table().copy_on_device, weir_stream(stream), weir_allocation(other), std::uint64_t{100},
                weir_allocation(one), std::uint64_t{600}, std::uint64_t{300});
  EXPECT_EQ(result_name(copied), "WEIR_OK") << "is the result of a copy of bytes 600 to 900 to bytes 100 to "
                                               "400 of the same memory, through two external "
                                               "allocations. driver.h: several allocations may contain the "
                                               "same bytes. Look first at how copy_on_device "
                                               "compares the ranges";
  stream.synchronize();
  EXPECT_TRUE(copied != WEIR_OK || same_bytes(owner.read(100, 300), Bytes(300, 5)));
}

WEIR_REQUIREMENT(4, 55, ExternalMemory, EndsAtItsSize,
                 "A range that ends past the size of external memory returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(4096);
  const Memory external = wrapped(owner, 0, 100);
  const Stream stream;
  const std::uint8_t byte = 1;
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(external), std::uint64_t{0},
          std::uint64_t{101}, static_cast<const void*>(&byte), 1u);
  Bytes host(200);
  refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()),
          weir_allocation(external), std::uint64_t{50}, std::uint64_t{51});
  stream.synchronize();
}

WEIR_REQUIREMENT(4, 56, ExternalMemory, IsReadAndWrittenByKernels,
                 "Kernels read and write external memory.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Kernel scale_add("scale_add");
  std::vector<std::int64_t> numbers(1000);
  for (std::size_t i = 0; i < 1000; ++i) numbers[i] = static_cast<std::int64_t>(i);
  const Memory in = Memory::of(numbers), out = Memory::of(std::vector<std::int64_t>(1000, 1'000'000));
  const Memory from = wrapped(in, 0, 8000), to = wrapped(out, 0, 8000);
  const Stream stream;
  scale_add.launch(stream, arguments(to, from, std::int64_t{1000}, std::int64_t{7}), 4);
  stream.synchronize();
  const auto results = out.values<std::int64_t>();
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)], 7 * i + 1'000'000);
}

WEIR_REQUIREMENT(
    4, 57, ExternalMemory, MayBePinnedHostMemory,
    "memory_wrap of pinned host memory gives pinned memory whose host_pointer is the given one, or returns "
    "WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  needs(WEIR_CAP_PINNED_MEMORY);
  const Memory owner(4096, WEIR_MEMORY_PINNED);
  auto* const host = static_cast<std::uint8_t*>(owner.info().host_pointer);
  std::memset(host, 1, 4096);
  const weir_external_memory memory = external_memory(WEIR_EXTERNAL_HOST, host + 64, 1000);
  Memory external(weir_allocation{});
  call_if_supported(table().memory_wrap, device(), &memory, external.out());
  const weir_memory_info found = external.info();
  EXPECT_EQ(found.kind, std::uint32_t{WEIR_MEMORY_PINNED});
  EXPECT_EQ(found.host_pointer, host + 64);
  EXPECT_EQ(found.size, 1000u);
  const Stream stream;
  fill<std::uint8_t>(stream, external, 0, 1000, 6);
  stream.synchronize();
  Bytes expected(4096, 1);
  std::fill_n(expected.begin() + 64, 1000, std::uint8_t{6});
  EXPECT_TRUE(same_bytes(Bytes(host, host + 4096), expected));
}

WEIR_REQUIREMENT(
    4, 58, ExternalMemory, WrongDescriptionsAreInvalid,
    "memory_wrap of another kind, of an address or size of 0, or of a range that ends at 2^64 or above "
    "returns WEIR_ERROR_INVALID and leaves the output alone.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(4096);
  const std::uint64_t address = owner.info().device_address;
  const weir_external_memory wrong[] = {
      {sizeof(weir_external_memory), WEIR_EXTERNAL_DEVICE, 0, 100},
      {sizeof(weir_external_memory), WEIR_EXTERNAL_DEVICE, address, 0},
      {sizeof(weir_external_memory), WEIR_EXTERNAL_HOST + 1, address, 100},
      {sizeof(weir_external_memory), 0x100 | WEIR_EXTERNAL_DEVICE, address, 100},
      {sizeof(weir_external_memory), 0x10000 | WEIR_EXTERNAL_DEVICE, address, 100},
      {sizeof(weir_external_memory), 0x80000000 | WEIR_EXTERNAL_DEVICE, address, 100},
      {sizeof(weir_external_memory), WEIR_EXTERNAL_DEVICE, address, ~std::uint64_t{0} - 10},
      {sizeof(weir_external_memory), WEIR_EXTERNAL_DEVICE, address, ~address + 1},
      {sizeof(weir_external_memory), WEIR_EXTERNAL_DEVICE, ~std::uint64_t{0} - 4095, 4096},
  };
  for (const weir_external_memory& memory : wrong) {
    weir_allocation out = nullptr;
    refusal(WEIR_ERROR_INVALID, table().memory_wrap, device(), &memory, &out);
  }
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().memory_wrap, device(),
          static_cast<const weir_external_memory*>(nullptr), &out);
}

WEIR_REQUIREMENT(
    4, 67, ExternalMemory, TakesNothingFromTheDevice,
    "External memory counts neither as memory in use nor, when it is freed, as memory that became free.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t size = std::min<std::uint64_t>(free / 4, 64u << 20);
  const Memory owner(size);
  const auto allocate = [&](const char* when) {
    const weir_memory_options options = memory_options(size);
    Memory made(weir_allocation{});
    const weir_result result = result_of(table().memory_allocate, device(), &options, made.out());
    EXPECT_EQ(result, WEIR_OK) << "memory_allocate of " << size << " bytes returned " << result_name(result)
                               << " " << when
                               << ": one allocation of that size is live, which memory_wrap was "
                               << "given " << total / size + 2
                               << " times. driver.h: external memory is memory that the driver does not own. "
                                  "Look first at what memory_wrap and memory_free count";
  };
  {
    std::vector<Memory> all;
    for (std::uint64_t i = 0; i < total / size + 2; ++i) all.push_back(wrapped(owner, 0, size));
    allocate("while external memory of more than the device's total was live");
  }
  allocate("after external memory of more than the device's total was freed");
}

WEIR_REQUIREMENT(4, 68, ExternalMemory, MayBeLargerThan4GiB,
                 "External memory of more than 2^32 bytes has its whole size, up to its last byte.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const std::uint64_t size = (std::uint64_t{1} << 32) + 4096;
  const weir_memory_info own = Memory(64).info();
  if (own.host_pointer && own.device_address == reinterpret_cast<std::uint64_t>(own.host_pointer)) {
    // The device works on the process's addresses. Only pages that are written take memory.
    void* const space =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) throw Skipped("the process has no 4 GiB of address space left");
    const std::unique_ptr<void, void (*)(void*)> unmap(
        space, [](void* begin) { munmap(begin, (std::uint64_t{1} << 32) + 4096); });
    const weir_external_memory memory = external_memory(WEIR_EXTERNAL_DEVICE, space, size);
    Memory external(weir_allocation{});
    call(table().memory_wrap, device(), &memory, external.out());
    EXPECT_EQ(external.info().size, size);
    const Stream stream;
    fill<std::uint8_t>(stream, external, size - 100, 100, 7);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(external.read(size - 100, 100), Bytes(100, 7)));
    return;
  }
  throw Skipped("device memory is not memory of this process, so 4 GiB of it would be needed");
}

WEIR_REQUIREMENT(5, 37, ExternalMemory, IsUsedByGraphs,
                 "Copies, fills and kernels of graphs take external memory like any other.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory owner(3 * 512);
  const Memory first = wrapped(owner, 0, 512), second = wrapped(owner, 512, 512),
               third = wrapped(owner, 1024, 512);
  HostMemory host(512);
  GraphNodes nodes;
  const auto filled = nodes.fill<std::uint8_t>(first, 0, 512, 7);
  const auto copied = nodes.copy_on_device(second, 0, first, 0, 512, {filled});
  nodes.copy_to_host(host.data(), second, 512, {copied});
  nodes.kernel(iota, arguments(third, std::int64_t{64}, std::int64_t{5}));
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(host.bytes(), Bytes(512, 7)));
  EXPECT_TRUE(same_bytes(owner.read(0, 1024), Bytes(1024, 7)));
  const Bytes numbers = owner.read(1024, 512);
  for (std::size_t i = 0; i < 64; ++i) {
    std::int64_t number = 0;
    std::memcpy(&number, numbers.data() + 8 * i, 8);
    ASSERT_EQ(number, static_cast<std::int64_t>(5 + i)) << "element " << i << " of the kernel's result";
  }
}

}  // namespace
}  // namespace weir::conformance
