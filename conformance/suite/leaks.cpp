// SPDX-License-Identifier: Apache-2.0
// Every object is made and destroyed thousands of times; the process's memory, descriptors and threads stay
// as they are.
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "gate.hpp"
#include "graph_nodes.hpp"
#include "kernels.hpp"

namespace weir::conformance {
namespace {

struct Usage {
  std::int64_t heap = 0;      ///< bytes in use of malloc
  std::int64_t resident = 0;  ///< bytes of the process in memory
  std::int64_t descriptors = 0, threads = 0;

  static Usage now() {
    Usage usage;
    const struct mallinfo2 heap = mallinfo2();
    usage.heap = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
    std::int64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    usage.resident = resident * sysconf(_SC_PAGESIZE);
    usage.descriptors = count_in("/proc/self/fd");
    usage.threads = count_in("/proc/self/task");
    return usage;
  }

 private:
  static std::int64_t count_in(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measurable = false;  // sanitizers keep freed memory
#else
constexpr bool measurable = true;
#endif

/// Runs `cycle` `cycles` times in five parts. A leak grows in each part, pools only until they are full: the
/// smallest growth of the last four parts must be below 16 bytes a cycle, or small.
void expect_flat(const char* what, int cycles, const std::function<void()>& cycle) {
  if (!measurable) throw Skipped("sanitizers keep freed memory");
  if (!judged().layer.library.empty()) throw Skipped("a layer keeps records of the calls");
  constexpr std::int64_t parts = 5, small = 48 << 10;
  const std::int64_t each = cycles / parts;
  Usage least;
  least.heap = least.resident = least.descriptors = least.threads = std::numeric_limits<std::int64_t>::max();
  Usage before;
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t i = 0; i < each; ++i) cycle();
    const Usage now = Usage::now();
    if (part > 0) {
      least.heap = std::min(least.heap, now.heap - before.heap);
      least.resident = std::min(least.resident, now.resident - before.resident);
      least.descriptors = std::min(least.descriptors, now.descriptors - before.descriptors);
      least.threads = std::min(least.threads, now.threads - before.threads);
    }
    before = now;
  }
  const std::string done = "each " + std::to_string(each) + " times " + what;
  EXPECT_LT(least.heap, std::max(16 * each, small))
      << done << ": the heap grew by at least " << least.heap << " bytes, " << least.heap / each
      << " each time. Look first at what the calls allocate and who frees it";
  EXPECT_LT(least.resident, std::max<std::int64_t>(256 * each, 1 << 20))
      << done << ": the process grew by at least " << least.resident << " bytes";
  EXPECT_LE(least.descriptors, each / 100) << done << ": descriptors stay open";
  EXPECT_LE(least.threads, each / 100) << done << ": threads stay alive";
}

constexpr int often = 10'000;

WEIR_REQUIREMENT(1, 60, Leaks, OfMemory,
                 "Allocating and freeing memory 10,000 times leaves nothing behind.") {
  const Stream stream;
  expect_flat("memory_allocate, fill, memory_get_info, memory_free", often, [&] {
    const Memory memory(1000);
    fill<std::uint8_t>(stream, memory, 0, 1000, 1);
    (void)memory.info();
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(1, 61, Leaks, OfRefusedCalls, "10,000 refused calls leave nothing behind.") {
  const Stream stream;
  const Memory memory(100);
  expect_flat("a refused allocation and a refused fill", often, [&] {
    const weir_memory_options options = memory_options(0);
    weir_allocation out = nullptr;
    const std::uint8_t byte = 1;
    (void)result_of(table().memory_allocate, device(), &options, &out);
    (void)result_of(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{99},
                    std::uint64_t{2}, static_cast<const void*>(&byte), 1u);
  });
}

WEIR_REQUIREMENT(2, 72, Leaks, OfStreams,
                 "Creating, using and destroying a stream 10,000 times leaves nothing behind.") {
  const Memory memory(64);
  expect_flat("stream_create, fill, stream_synchronize, stream_destroy", often, [&] {
    const Stream stream;
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(2, 73, Leaks, OfStreamsDestroyedWhileBusy,
                 "Destroying 10,000 streams while they are busy leaves nothing behind.") {
  needs(WEIR_CAP_HOST_CALLBACK);  // without it, nothing holds streams for so short a time
  const Memory memory(64);
  const Stream held;
  constexpr int together = 50;
  expect_flat("50 streams that wait for a held one, each destroyed while it is busy", often / together, [&] {
    const Event begin;
    std::vector<Event> ends(together);
    std::vector<Stream> streams(together);  // created first: stream_create may wait for work
    Gate gate;
    gate.hold(held);
    begin.record(held);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      streams[i].wait(begin);
      fill<std::uint8_t>(streams[i], memory, 0, 64, 1);
      ends[i].record(streams[i]);
      streams[i].destroy();
    }
    gate.open();
    for (const Event& end : ends) end.synchronize();
  });
}

WEIR_REQUIREMENT(
    2, 74, Leaks, OfEvents,
    "Recording, waiting for, querying and destroying an event on a new stream 10,000 times leaves "
    "nothing behind.") {
  const Stream waiting;
  const bool timed = has(WEIR_CAP_TIMED_EVENTS);
  expect_flat("event_create, event_record twice, stream_wait_event, event_synchronize, event_destroy", often,
              [&] {
                const Stream stream;
                const Event event(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN), plain;
                event.record(waiting);
                event.record(stream);
                plain.record(stream);
                waiting.wait(event);
                waiting.wait(plain);
                event.synchronize();
                (void)event.done();
                plain.synchronize();
                waiting.synchronize();
              });
}

WEIR_REQUIREMENT(
    3, 59, Leaks, OfModulesAndLaunches,
    "Loading, launching and unloading a module 500 times, and 10,000 launches of one kernel, leave "
    "nothing behind.") {
  const Memory out(8 * 64);
  const Stream stream;
  expect_flat("module_load, module_get_kernel, kernel_launch, module_unload", 500, [&] {
    const Kernel iota("iota");
    iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{1}));
    stream.synchronize();
  });
  const Kernel iota("iota");
  expect_flat("kernel_launch", often, [&] {
    iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{1}));
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(4, 13, Leaks, OfStreamOrderedMemory,
                 "Allocating and freeing memory in stream order 10,000 times leaves nothing behind.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  expect_flat("memory_allocate_async, fill, memory_free_async", often, [&] {
    const weir_memory_options options = memory_options(1000);
    weir_allocation memory = nullptr;
    call(table().memory_allocate_async, weir_stream(stream), &options, &memory);
    fill<std::uint8_t>(stream, memory, 0, 1000, 1);
    call(table().memory_free_async, weir_stream(stream), memory);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(4, 46, Leaks, OfCallbacks, "10,000 host callbacks leave nothing behind.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  const weir_host_callback nothing = [](void*) {};
  expect_flat("stream_host_callback", often, [&] {
    call(table().stream_host_callback, weir_stream(stream), nothing, static_cast<void*>(nullptr));
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(5, 28, Leaks, OfGraphs,
                 "Making, launching, updating and destroying a graph 2,000 times leaves nothing behind.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(4096);
  const Stream streams[2];
  GraphNodes nodes;
  const auto first = nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  nodes.fill<std::uint8_t>(memory, 64, 64, 2, {first});
  nodes.fill<std::uint8_t>(memory, 128, 64, 3, {first});
  expect_flat("graph_create, graph_launch on two streams, graph_update, graph_destroy", 2000, [&] {
    {
      const Graph graph = nodes.make();
      for (const Stream& stream : streams) launch(graph, stream);
      (void)result_of(table().graph_update, weir_graph(graph), first,
                      static_cast<const weir_graph_node*>(&nodes[first]));
      launch(graph, streams[0]);
    }
    for (const Stream& stream : streams) stream.synchronize();
  });
}

}  // namespace
}  // namespace weir::conformance
