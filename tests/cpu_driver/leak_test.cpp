// SPDX-License-Identifier: Apache-2.0
// Every object is given back, however it ends. Lost references show as growth of the heap.
#include <malloc.h>

#include "allocations.hpp"
#include "graph_nodes.hpp"

namespace cpu_test {
namespace {

constexpr int rounds = 500, phases = 8;
constexpr std::size_t slack = 16 * rounds;  // less than any object in each round

/// Fails if the heap grows each time that `round` runs many times. Pools also grow when more objects than
/// ever are in use at a time, but not in each phase.
template <class Round>
void expect_no_growth(const char* what, Round round) {
  std::size_t before = 0, after = 0;
  for (int phase = 0; phase < phases; ++phase) {
    before = mallinfo2().uordblks;
    for (int i = 0; i < rounds; ++i) round();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a worker gives back the last objects
    after = mallinfo2().uordblks;
    if (after <= before + slack) return;
  }
  ADD_FAILURE();
  // The parent process prints what this one writes here.
  std::fprintf(stderr, "%s keeps %zu bytes of memory in %d rounds\n", what, after - before, rounds);
}

TEST(LeakDeathTest, NoObjectKeepsMemory) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    std::uint32_t value = 0;
    const AddArguments add{&value, 1};
    const weir_kernel adds = kernels().add;

    expect_no_growth("a stream that was never used", [] { Stream stream; });
    expect_no_growth("a stream destroyed after its work", [&] {
      Stream stream;
      stream.launch(adds, add);
      stream.synchronize();
    });
    expect_no_growth("a stream destroyed with its work", [&] {
      Event end;
      {
        Stream busy;
        for (int i = 0; i < 4; ++i) busy.launch(adds, add);
        end.record(busy);
      }
      end.synchronize();
    });
    expect_no_growth("a stream with many operations at a time", [&] {
      Stream stream;
      for (int i = 0; i < 100; ++i) stream.launch(adds, add);
      stream.synchronize();
    });
    Stream stream, other;
    expect_no_growth("an event that is waited for", [&] {
      Event event;
      stream.launch(adds, add);
      event.record(stream);
      other.wait(event);
      other.synchronize();  // runs the work of the other stream
      event.record(other);
      event.synchronize();
    });
    Event kept(WEIR_EVENT_TIMED);
    expect_no_growth("an event that is recorded again", [&] {
      Stream brief;
      kept.record(brief);
      kept.record(stream);
      stream.synchronize();
    });
    expect_no_growth("a graph on two streams", [&] {
      Nodes nodes;
      nodes.launch(adds, add);
      nodes.launch(adds, add);
      nodes.launch(adds, add, {0, 1});
      Graph graph(nodes);
      Stream brief;
      graph.launch(brief);
      graph.launch(stream);
      graph.launch(other);
      graph.destroy();
      other.synchronize();
    });
    expect_no_growth("a stream whose operations are used again", [&] {
      Stream brief;
      for (const int count : {10, 5, 1}) {
        for (int i = 0; i < count; ++i) brief.launch(adds, add);
        brief.synchronize();
      }
    });
    expect_no_growth("a stream with a callback", [&] {
      std::function<void()> nothing = [] {};
      Stream brief;
      submit_callback(brief, nothing);
      brief.synchronize();
    });
    expect_no_growth("a stream destroyed with its callback", [&] {
      std::function<void()> nothing = [] {};
      Event end;
      {
        Stream brief;
        submit_callback(brief, nothing);
        end.record(brief);
      }
      end.synchronize();
    });
    expect_no_growth("a stream of whose work a part is waited for", [&] {
      Stream brief;
      Event part;
      brief.launch(adds, add);
      part.record(brief);
      brief.launch(adds, add);
      part.synchronize();
      brief.synchronize();
    });
    expect_no_growth("a stream that waits for another one", [&] {
      Stream first, second;
      Event event;
      first.launch(adds, add);
      event.record(first);
      second.wait(event);
      second.synchronize();  // runs the work of the first one
    });
    {
      Nodes nodes;
      nodes.launch(adds, add);
      Graph graph(nodes);
      expect_no_growth("a graph that is updated for each run", [&] {
        graph.update(0, nodes[0]);
        graph.launch(stream);
        graph.update(0, nodes[0]);
        stream.synchronize();
      });
    }
    expect_no_growth("a refused graph", [&] {
      Nodes nodes;
      nodes.launch(adds, add);
      nodes.launch(adds, add, {7});
      const auto all = nodes.pointers();
      weir_graph graph = nullptr;
      EXPECT_EQ(table().graph_create(first_device(), 2, all.data(), &graph, nullptr), WEIR_ERROR_INVALID);
    });
    expect_no_growth("memory", [&] {
      const Memory memory(4096);
      weir_allocation ordered = nullptr;
      const weir_memory_options options = memory_options(4096);
      call(table().memory_allocate_async, weir_stream(stream), &options, &ordered);
      call(table().memory_free_async, weir_stream(stream), ordered);
      stream.synchronize();
    });
  });
}

/// The bytes of the heap, including blocks that the system maps on their own.
std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Waits until the heap has fewer bytes: a worker frees the last operations after the stream is done.
bool heap_falls_below(std::size_t bytes) {
  for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
       heap_bytes() >= bytes && std::chrono::steady_clock::now() < limit;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return heap_bytes() < bytes;
}

constexpr std::size_t kept_bytes = 4096 * 352;  // of the operations that a stream keeps for later ones
constexpr std::size_t other_bytes = 500'000;    // less than any test loses if operations are not freed

// Workers that take turns return a stream's operations in parts.
TEST(LeakDeathTest, StreamsWithManyOperationsKeepFew) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    constexpr int count = 12'000;
    const weir_kernel nothing = kernels().nothing;
    Stream first, streams[2];
    const std::size_t before = heap_bytes();
    for (int round = 0; round < 3; ++round) {
      Gate gate;
      gate.close(first);  // the only worker waits
      for (Stream& stream : streams)
        for (int i = 0; i < count; ++i) stream.launch(nothing);
      gate.open();
      while (!streams[0].done() || !streams[1].done()) std::this_thread::yield();
    }
    first.synchronize();
    EXPECT_TRUE(heap_falls_below(before + 2 * kept_bytes + other_bytes));
    for (Stream& stream : streams) {  // the waiting thread runs them
      Event event;
      for (int i = 0; i < count; ++i) stream.launch(nothing);
      event.record(stream);
      event.synchronize();
    }
    EXPECT_TRUE(heap_falls_below(before + 2 * kept_bytes + other_bytes));
    for (Stream& stream : streams) stream.destroy();
    EXPECT_TRUE(heap_falls_below(before + other_bytes));
  });
}

// A part of a stream's operations, more than it keeps, ends while another stream waits for the last of them.
TEST(LeakDeathTest, StreamsKeepFewOperationsThatOthersWaitFor) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    constexpr int count = 10'000;
    const weir_kernel nothing = kernels().nothing;
    Stream busy, waiting;
    const std::size_t before = heap_bytes();
    for (int round = 0; round < 4; ++round) {
      std::uint32_t begun = 0, open = 0, met = 0, waits = 0;
      Event part;
      busy.launch(kernels().meet, MeetArguments{&begun, &open, &met});
      for (int i = 0; i < count; ++i) busy.launch(nothing);
      part.record(busy);
      busy.launch(nothing);
      launch_raise(waiting, waits);
      waiting.wait(part);
      while (!read(begun) || !read(waits)) std::this_thread::yield();
      // The test proves something if the other stream waits by now.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      raise(open);
      while (!busy.done() || !waiting.done()) std::this_thread::yield();
    }
    busy.synchronize();
    EXPECT_TRUE(heap_falls_below(before + kept_bytes + other_bytes));
  });
}

// A thread has memory for the largest block that it has run.
TEST(LeakDeathTest, SharedMemoryOfBlocksReplacesSmaller) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    std::uint32_t seen[6] = {}, failures = 0;
    const RunArguments arguments{seen, &failures};
    weir_launch launch = launch_of(kernels().see_run, 1);
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    Stream stream;
    const std::size_t before = heap_bytes();
    for (std::uint32_t pages = 1; pages <= 64; ++pages) {
      launch.dynamic_shared_bytes = pages * 4096;
      call(table().kernel_launch, weir_stream(stream), &launch);
      stream.synchronize();
    }
    EXPECT_TRUE(heap_falls_below(before + 2 * 2 * 64 * 4096));  // of two threads, with some room
    EXPECT_EQ(failures, 0u);
  });
}

TEST(LaunchDeathTest, AllocatesNothingOnAUsedStream) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    Stream stream;
    std::uint32_t value = 0;
    const auto use = [&] {
      stream.launch(kernels().add, AddArguments{&value, 1});
      stream.synchronize();
    };
    use();
    const std::size_t before = allocations;
    for (int i = 0; i < 200; ++i) use();
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(value, 201u);
  });
}

TEST(LeakDeathTest, NoModuleKeepsMemory) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    const std::vector<char> bytes = kernel_bytes();
    const auto round = [&] {
      const weir_code_object object = code_object(bytes);
      weir_module module = nullptr;
      call(table().module_load, first_device(), &object, &module);
      plain_kernel(module, "nothing");
      call(table().module_unload, module);
    };
    for (int i = 0; i < 20; ++i) round();
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 200; ++i) round();
    EXPECT_LT(mallinfo2().uordblks, before + 200 * 16);
  });
}

}  // namespace
}  // namespace cpu_test
