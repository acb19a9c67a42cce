// SPDX-License-Identifier: Apache-2.0
// Level 4: when memory that was freed in stream order is used again, and what its deallocation waits for.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "ordered_memory.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(
    4, 11, AsyncMemory, FreeingReusedMemoryWaitsForItsEarlierLife,
    "memory_free of an allocation that reuses the memory of a pending memory_free_async does not "
    "make the memory available before the work that still reads it.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  for (const std::uint64_t size : pooled_sizes) {
    std::vector<Memory> taken;
    FreedBehindARead freed(size);
    std::vector<weir_allocation> reused;
    for (int i = 0; i < 4; ++i) reused.push_back(allocate(freed.held, size));
    // memory_free may block; then expect_read() lets it go on, and nothing can be tested.
    std::atomic<bool> all_freed{false};
    std::jthread freeing([&] {
      for (const weir_allocation one : reused) (void)result_of(table().memory_free, one);
      all_freed = true;
    });
    if (!never([&] { return all_freed.load(); })) {
      for (int i = 0; i < 16; ++i) freed.fill_other(taken.emplace_back(size));
      freed.end_filling();
    }
    freed.expect_read(
        "; a later allocation was freed by memory_free, and other memory was allocated and filled with 99. "
        "Look first at what memory_free does with memory that was taken over from a pending deallocation");
  }
}

WEIR_REQUIREMENT(
    4, 31, AsyncMemory, MemoryWaitsForAllItsEarlierLives,
    "Memory that was freed on a stream with held work, taken over and freed on another stream, is not used "
    "by a third one before the work of the first has run; nor is memory that was joined from parts that "
    "different streams freed.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  for (const std::uint64_t size : pooled_sizes) {
    constexpr int count = 8;
    const Stream first, second, third;
    weir_allocation earlier[2 * count], taken[3 * count];
    for (weir_allocation& one : earlier) one = allocate(first, size);
    first.synchronize();
    Gate gate;
    gate.hold(first);
    // Neighbours are freed on the two streams, so that some pools join them. Only `first` has work.
    for (int i = 0; i < 2 * count; i += 2) fill<std::uint8_t>(first, earlier[i], 0, size, 1);
    for (int i = 0; i < 2 * count; ++i) free_on(i % 2 ? second : first, earlier[i]);
    for (int i = 0; i < count; ++i) free_on(second, allocate(second, size));
    for (int i = 0; i < 3 * count; ++i) {
      const Stream& stream = i < 2 * count ? third : second;
      taken[i] = allocate(stream, i % 2 ? size : 2 * size);
      fill<std::uint8_t>(stream, taken[i], 0, size, 99);
    }
    second.flush();
    third.flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for fills that do not wait
    gate.open();
    first.synchronize();
    second.synchronize();
    third.synchronize();
    for (int i = 0; i < 3 * count; ++i) {
      EXPECT_TRUE(same_bytes(read_through(third, taken[i], 0, size), Bytes(size, 99)))
          << "a stream filled its new memory of " << size
          << " bytes and more with 99; held work of another stream, which had freed the same memory, wrote "
             "to it later. Look first at what memory_allocate_async and memory_free_async do with the marks "
             "of a block that has more than one";
      free_on(third, taken[i]);
    }
    third.synchronize();
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    4, 97, AsyncMemory, TheRestOfReusedMemoryWaits,
    "If a held stream frees memory and allocates a part of it again, no other stream uses the rest before "
    "the stream's earlier work has run.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  for (const std::uint64_t size : pooled_sizes) {
    std::vector<Memory> taken;
    FreedBehindARead freed(size);
    const weir_allocation half = allocate(freed.held, std::max<std::uint64_t>(size / 2, 1));
    for (int i = 0; i < 24; ++i) {
      const std::uint64_t part = std::max<std::uint64_t>(size >> (1 + i % 3), 1);
      taken.emplace_back(i % 2 ? allocate(freed.other, part) : Memory(part).release());
      fill<std::uint8_t>(freed.other, taken.back(), 0, part, 99);
    }
    freed.end_filling();
    freed.expect_read(
        "; the stream then allocated half as much, and another one filled blocks of up to half of that size "
        "with 99. Look first at what memory_allocate_async does with the rest of a block that is freed "
        "later");
    free_on(freed.held, half);
    freed.held.synchronize();
  }
}

WEIR_REQUIREMENT(
    4, 34, AsyncMemory, JoinedMemoryWaitsForEachOfItsLives,
    "Memory that was joined from parts that two held streams freed is not used after memory_free before both "
    "streams have gone on.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  needs(WEIR_CAP_HOST_CALLBACK);
  constexpr int count = 16;
  for (const std::uint64_t size : pooled_sizes)
    for (const bool first_goes_on : {true, false}) {
      const Stream streams[2], other;
      const HostMemory hosts[2] = {HostMemory(count * size), HostMemory(count * size)};
      weir_allocation parts[2 * count];
      for (weir_allocation& one : parts) {
        one = allocate(other, size);
        fill<std::uint8_t>(other, one, 0, size, 21);
      }
      other.synchronize();
      std::vector<Memory> taken;
      std::atomic<bool> joined_freed{false};
      {
        std::jthread freeing;
        Gate gates[2];
        for (std::size_t i = 0; i < 2; ++i) gates[i].hold(streams[i]);
        // Neighbours are freed by the two streams, each after a copy that reads them.
        for (std::size_t i = 0; i < 2 * count; ++i) {
          call(table().copy_to_host, weir_stream(streams[i % 2]),
               static_cast<void*>(hosts[i % 2].data() + i / 2 * size), parts[i], std::uint64_t{0}, size);
          free_on(streams[i % 2], parts[i]);
        }
        std::vector<weir_allocation> joined;
        for (int i = 0; i < count; ++i) joined.push_back(allocate(streams[0], 2 * size));
        freeing = std::jthread([&] {  // it may wait for both streams
          for (const weir_allocation one : joined) (void)result_of(table().memory_free, one);
          joined_freed = true;
        });
        (void)never([&] { return joined_freed.load(); });
        // The first stream may wait for the second one, whose memory it took over.
        gates[first_goes_on ? 0 : 1].open();
        streams[first_goes_on ? 0 : 1].flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (joined_freed) {
          for (int i = 0; i < count; ++i) {
            taken.emplace_back(i % 2 ? size : 2 * size);
            fill<std::uint8_t>(other, taken.back(), 0, size, 99);
          }
          other.flush();
          std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for fills that do not wait
        }
        for (Gate& gate : gates) gate.open();
      }
      other.synchronize();
      for (std::size_t i = 0; i < 2; ++i) {
        streams[i].synchronize();
        EXPECT_TRUE(same_bytes(hosts[i].bytes(), Bytes(count * size, 21)))
            << "two held streams read and freed blocks of " << size
            << " bytes that lie next to each other. Blocks of twice the size were allocated and given to "
               "memory_free, one stream went on, and new memory was filled with 99, which the other stream "
               "read. Look first at how many pending deallocations a block remembers";
      }
      if (HasFailure()) return;
    }
}

WEIR_REQUIREMENT(4, 35, AsyncMemory, ReusedMemoryHasTheSizeThatWasAskedFor,
                 "memory_allocate_async keeps the size that it was asked for also where it takes over larger "
                 "memory that is freed later.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  for (const std::uint64_t size : {1u, 300u, 5000u, 70'000u}) {
    const weir_allocation freed[] = {allocate(stream, size), allocate(stream, 2 * size)};
    stream.synchronize();
    Gate gate;
    gate.hold(stream);
    for (const weir_allocation one : freed) free_on(stream, one);
    const weir_allocation taken[] = {allocate(stream, size), allocate(stream, size)};
    for (const weir_allocation one : taken) {
      weir_memory_info described{};
      described.struct_size = sizeof described;
      call(table().memory_get_info, one, &described);
      EXPECT_EQ(described.size, size)
          << "of memory for which " << size << " bytes were asked while as many and twice as many were freed";
      const std::uint8_t byte = 1;
      refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), one, size, std::uint64_t{1},
              static_cast<const void*>(&byte), 1u);
    }
    for (const weir_allocation one : taken) free_on(stream, one);
    gate.open();
    stream.synchronize();
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    4, 96, AsyncMemory, ReusedMemoryIsAligned,
    "memory_allocate_async keeps alignments also while memory of the same size is freed on its stream.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_DEVICE_ADDRESS);
  const Stream stream;
  for (const std::uint64_t alignment : {512u, 4096u, 65536u, 1u << 20, 4u << 20})
    for (const std::uint64_t size : {std::uint64_t{256}, alignment}) {
      std::vector<weir_allocation> freed, taken;
      // An odd number of the smallest blocks between them, so that few are aligned by chance.
      for (int i = 0; i < 8; ++i) {
        freed.push_back(allocate(stream, size));
        taken.push_back(allocate(stream, info().memory_alignment));
      }
      stream.synchronize();
      Gate gate;
      gate.hold(stream);
      for (const weir_allocation one : freed) free_on(stream, one);
      const weir_memory_options options = memory_options(size, WEIR_MEMORY_DEVICE, alignment);
      for (int i = 0; i < 8; ++i) {
        weir_allocation made = nullptr;
        if (result_of(table().memory_allocate_async, weir_stream(stream), &options, &made) != WEIR_OK) break;
        taken.push_back(made);
        weir_memory_info placed{};
        placed.struct_size = sizeof placed;
        call(table().memory_get_info, made, &placed);
        EXPECT_EQ(placed.device_address % alignment, 0u)
            << "memory_allocate_async of " << size << " bytes with alignment " << alignment
            << " gave address " << placed.device_address
            << " while a memory_free_async of memory of that size was pending on the "
            << "stream. Look first at how it chooses a block that is freed later";
      }
      for (const weir_allocation one : taken) free_on(stream, one);
      gate.open();
      stream.synchronize();
      if (HasFailure()) return;
    }
}

/// Memory of 1 MiB that work of a held stream reads after it was freed in stream order.
class FreedMemory {
 public:
  static constexpr std::uint64_t size = 1u << 20;

  /// Memory of `allocated_in`, or of memory_allocate if that is null, filled with 21.
  explicit FreedMemory(const Stream* allocated_in) : host_(size) {
    const Stream& stream = allocated_in ? *allocated_in : other_;
    memory_ = allocated_in ? allocate(stream, size) : Memory(size).release();
    fill<std::uint8_t>(stream, memory_, 0, size, 21);
    stream.synchronize();
  }
  weir_allocation memory() const { return memory_; }
  const HostMemory& host() const { return host_; }

  /// Allocates and fills other memory, which shows in the host's copy if it is the same memory. Call it
  /// after the deallocation was submitted and before the gate opens.
  void allocate_others() {
    for (int i = 0; i < 16; ++i) {
      Memory taken = i % 2 ? Memory(size) : Memory(allocate(other_, size));
      fill<std::uint8_t>(other_, taken, 0, size, 99);
      taken_.push_back(std::move(taken));
    }
    if (has(WEIR_CAP_CONCURRENT_STREAMS)) other_.synchronize();
  }
  void expect_unchanged(const char* what) const {
    other_.synchronize();
    EXPECT_TRUE(same_bytes(host_.bytes(), Bytes(size, 21)))
        << what
        << " The work was held back while 16 other allocations were filled with 99. driver.h: the "
           "deallocation is ordered in the stream that memory_free_async names, alone. Look first at which "
           "work it waits for";
  }

 private:
  const Stream other_;
  const HostMemory host_;
  weir_allocation memory_ = nullptr;
  std::vector<Memory> taken_;
};

WEIR_REQUIREMENT(
    4, 28, AsyncMemory, FreeingWaitsForTheStreamThatItNames,
    "memory_free_async takes effect after the earlier work of the stream that it names, whichever stream "
    "allocated the memory, and after what that stream waits for.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream owner, held, waiting;
  const Event read;
  for (const Stream* allocated_in : {&owner, static_cast<const Stream*>(nullptr)}) {
    FreedMemory freed(allocated_in);
    {
      Gate gate;
      gate.hold(held);
      copy_out(held, freed.host(), freed.memory(), FreedMemory::size);
      free_on(held, freed.memory());
      freed.allocate_others();
      gate.open();
      held.synchronize();
    }
    freed.expect_unchanged(allocated_in
                               ? "Memory of another, idle stream was read by a held stream and freed there."
                               : "Memory of memory_allocate was read by a held stream and freed there.");
  }
  FreedMemory freed(&owner);
  {
    Gate gate;
    gate.hold(held);
    copy_out(held, freed.host(), freed.memory(), FreedMemory::size);
    read.record(held);
    waiting.wait(read);
    waiting.flush();
    free_on(waiting, freed.memory());
    freed.allocate_others();
    gate.open();
    held.synchronize();
    waiting.synchronize();
  }
  freed.expect_unchanged(
      "Memory was read by a held stream and freed in another one, which waits for an event after the read "
      "and has no other work.");
}

WEIR_REQUIREMENT(4, 29, AsyncMemory, FreeingWaitsForGraphs,
                 "memory_free_async takes effect after the stream's earlier graph launches.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  needs(WEIR_CAP_GRAPHS);
  const Stream owner, held;
  FreedMemory freed(&owner);
  GraphNodes nodes;
  nodes.copy_to_host(freed.host().data(), freed.memory(), FreedMemory::size);
  const Graph graph = nodes.make();
  {
    Gate gate;
    gate.hold(held);
    launch(graph, held);
    free_on(held, freed.memory());
    freed.allocate_others();
    gate.open();
    held.synchronize();
  }
  freed.expect_unchanged("Memory was read by a graph that was launched in a held stream, and freed there.");
}

}  // namespace
}  // namespace weir::conformance
