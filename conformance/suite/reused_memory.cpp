// SPDX-License-Identifier: Apache-2.0
// Level 4: when memory that was freed in stream order is used again, and what its deallocation waits for.
#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <thread>
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
    freed.expect_read(" Then the stream allocated as much, which memory_free freed.",
                      "what memory_free does with memory that was taken over from a pending deallocation");
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
    freed.expect_read(" Then the stream allocated half as much.",
                      "what memory_allocate_async does with the rest of a block that is freed later");
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

/// Takes the device's free memory, except less than twice `smallest`. Throws Unsupported if there is no end.
std::vector<Memory> rest_of_memory(std::uint64_t smallest) {
  std::uint64_t free = 0, total = 0, sum = 0;
  call(table().device_get_memory, device(), &free, &total);
  std::vector<Memory> taken;
  bool small = false;
  for (std::uint64_t piece = std::bit_floor(total); piece >= smallest; piece /= 2)
    for (;;) {
      const weir_memory_options options = memory_options(piece);
      weir_allocation made = nullptr;
      if (result_of(table().memory_allocate, device(), &options, &made) != WEIR_OK) break;
      taken.emplace_back(made);
      small = piece / 2 < smallest;
      if ((sum += piece) > 2 * total) throw Unsupported("the device allocates more memory than it has");
    }
  if (small) taken.pop_back();  // a driver may need some for its own work
  return taken;
}

WEIR_REQUIREMENT(4, 36, AsyncMemory, FreeingJoinedMemoryWaitsForEachPart,
                 "If a held stream frees two blocks one after the other and allocates as much as both, "
                 "memory_free of that makes neither block available before the work in front of its "
                 "deallocation has run.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  needs(WEIR_CAP_HOST_CALLBACK);
  constexpr std::uint64_t size = 32u << 20;
  // Which of two neighbours is freed first may decide what a pool remembers.
  for (const bool upwards : {true, false}) {
    const Stream held, other;
    weir_allocation parts[2];
    for (weir_allocation& part : parts) {
      part = allocate(held, size);
      fill<std::uint8_t>(held, part, 0, size, 21);
    }
    held.synchronize();
    if (!upwards) std::swap(parts[0], parts[1]);
    const HostMemory host(size);
    std::vector<Memory> taken;
    bool returned = false;
    {
      // Without other memory, the allocation can only take both blocks.
      const std::vector<Memory> rest = rest_of_memory(size / 2);
      std::atomic<bool> joined{false}, refused{false}, took{false};
      std::atomic<weir_result> freed{WEIR_OK};
      std::jthread joining, taking;
      Gate first, second;
      first.hold(held);
      free_on(held, parts[0]);
      second.hold(held);
      copy_out(held, host, parts[1], size);
      free_on(held, parts[1]);
      held.flush();
      joining = std::jthread([&] {  // both calls may wait for the stream
        const weir_memory_options options = memory_options(2 * size);
        weir_allocation both = nullptr;
        refused = result_of(table().memory_allocate_async, weir_stream(held), &options, &both) != WEIR_OK;
        if (!refused) freed = result_of(table().memory_free, both);
        joined = true;
      });
      returned = !never([&] { return joined.load(); }) && !refused;
      EXPECT_EQ(result_name(freed), "WEIR_OK") << "is what memory_free of the allocation returned";
      if (returned) {
        first.open();
        ASSERT_TRUE(second.reached()) << "a stream whose host callback returned did not go on";
        taking = std::jthread([&] {  // it waits for the second block, unless it gets other memory
          const weir_memory_options options = memory_options(size);
          for (int i = 0; i < 2; ++i) {
            weir_allocation made = nullptr;
            if (result_of(table().memory_allocate, device(), &options, &made) != WEIR_OK) break;
            taken.emplace_back(made);
            fill<std::uint8_t>(other, made, 0, size, 99);
            (void)result_of(table().stream_synchronize, weir_stream(other));
          }
          took = true;
        });
        (void)never([&] { return took.load(); });
      }
      first.open();
      second.open();
    }
    held.synchronize();
    if (!returned) throw Unsupported("the device does not join memory that its stream frees later");
    EXPECT_TRUE(same_bytes(host.bytes(), Bytes(size, 21)))
        << "while no other memory was free, a held stream freed a block of " << size
        << " bytes, was held again, copied a second such block of 21s to the host and freed that too. "
           "memory_allocate_async took both blocks at once, and memory_free freed them. The stream went on "
           "up to the second hold, and other memory was allocated and filled with 99, which the copy read. "
           "driver.h: the memory becomes available only after the work submitted before the pending "
           "deallocation. Look first at how many pending deallocations an allocation remembers";
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

WEIR_REQUIREMENT(
    4, 28, AsyncMemory, FreeingWaitsForTheStreamThatItNames,
    "memory_free_async takes effect after the earlier work of the stream that it names, whichever stream "
    "allocated the memory, and after what that stream waits for.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream owner, held, waiting;
  const Event read;
  for (const Stream* allocated_in : {&owner, static_cast<const Stream*>(nullptr)}) {
    FreedMemory freed(1u << 20, allocated_in);
    {
      Gate gate;
      gate.hold(held);
      freed.read_on(held);
      free_on(held, freed.memory());
      freed.allocate_others();
      gate.open();
      held.synchronize();
    }
    freed.expect_unchanged(allocated_in
                               ? "Memory of another, idle stream was read by a held stream and freed there."
                               : "Memory of memory_allocate was read by a held stream and freed there.");
  }
  FreedMemory freed(1u << 20, &owner);
  {
    Gate gate;
    gate.hold(held);
    freed.read_on(held);
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
  FreedMemory freed(1u << 20, &owner);
  GraphNodes nodes;
  nodes.copy_to_host(freed.host().data(), freed.memory(), 1u << 20);
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

WEIR_REQUIREMENT(
    4, 15, AsyncMemory, FreeingWaitsForRunningWork,
    "memory_free_async of memory that a running kernel or graph uses makes it available after that, although "
    "nothing else is queued.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream, other;
  for (const auto& [size, in_graph] : {std::pair{256u, false},
                                       {2048u, false},
                                       {4096u, false},
                                       {65536u, false},
                                       {1u << 20, false},
                                       {256u, true},
                                       {65536u, true}}) {
    if (in_graph && !has(WEIR_CAP_GRAPHS)) break;
    HeldKernel held;
    std::optional<Graph> graph;
    // An allocator keeps some of those that are freed first for other uses, and joins the next with its free
    // neighbours, so that new allocations get it.
    std::vector<Memory> neighbours;
    for (int i = 0; i < 12; ++i) neighbours.emplace_back(size);
    // The kernel writes to it when it ends.
    const weir_allocation result = allocate(stream, size);
    for (int i = 0; i < 12; ++i) neighbours.emplace_back(size);
    neighbours.clear();
    stream.synchronize();
    if (in_graph) {
      GraphNodes nodes;
      nodes.kernel(held.kernel(), held.arguments(result));
      launch(graph.emplace(nodes.make()), stream);
      stream.flush();
    } else {
      held.launch(stream, result);
    }
    ASSERT_TRUE(held.starts()) << "the kernel did not start";
    free_on(stream, result);
    std::vector<Memory> taken;
    for (int i = 0; i < 48; ++i) {
      if (i % 2)
        taken.emplace_back(size);
      else
        taken.emplace_back(allocate(other, size));
      fill<std::uint8_t>(other, taken.back(), 0, size, 99);
    }
    other.synchronize();
    held.release();
    stream.synchronize();
    for (const Memory& memory : taken)
      ASSERT_TRUE(same_bytes(read_through(other, memory, 0, size), Bytes(size, 99)))
          << "memory_free_async of " << size << " bytes was submitted after a kernel "
          << (in_graph ? "of a graph " : "")
          << "that still ran; the kernel wrote to memory that was "
             "allocated meanwhile. Look first at when memory_free_async takes the stream for idle";
  }
}

}  // namespace
}  // namespace weir::conformance
