// SPDX-License-Identifier: Apache-2.0
// Calls on a thread that has made no call before, and work that nobody waits for.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

/// Each call on a thread of its own. The device is open already, by the thread of the test.
void on_new_threads(const std::vector<std::pair<const char*, std::function<void()>>>& calls) {
  device();
  for (const auto& [name, make] : calls) {
    std::exception_ptr thrown;
    std::jthread([&] {
      try {
        make();
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
    if (!testing::Test::HasFailure()) continue;
    ADD_FAILURE() << name
                  << " was called on a thread that had called nothing before. driver.h: every function "
                     "may be called from any thread. Look first at state that a thread gets by device_open";
    return;
  }
}

WEIR_REQUIREMENT(4, 39, Threads, MakeOptionalCallsFirst,
                 "Allocations and deallocations in stream order, host callbacks, timed events and external "
                 "memory work on threads that have called nothing before.") {
  const Stream stream;
  const Memory memory(4096);
  weir_allocation allocated = nullptr;
  const weir_memory_options options = memory_options(64);
  const Event start(has(WEIR_CAP_TIMED_EVENTS) ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
  const Event end(has(WEIR_CAP_TIMED_EVENTS) ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
  std::vector<std::pair<const char*, std::function<void()>>> calls;
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
    calls.emplace_back("memory_allocate_async", [&] {
      call(table().memory_allocate_async, weir_stream(stream), &options, &allocated);
    });
    calls.emplace_back("memory_free_async",
                       [&] { call(table().memory_free_async, weir_stream(stream), allocated); });
  }
  if (has(WEIR_CAP_HOST_CALLBACK))
    calls.emplace_back("stream_host_callback", [&] {
      call(table().stream_host_callback, weir_stream(stream), weir_host_callback([](void*) {}),
           static_cast<void*>(nullptr));
    });
  calls.emplace_back("event_record", [&] { start.record(stream); });
  calls.emplace_back("event_record", [&] { end.record(stream); });
  calls.emplace_back("event_synchronize", [&] { end.synchronize(); });
  if (has(WEIR_CAP_TIMED_EVENTS))
    calls.emplace_back("event_elapsed", [&] {
      double milliseconds = -1;
      call(table().event_elapsed, weir_event(start), weir_event(end), &milliseconds);
    });
  if (has(WEIR_CAP_EXTERNAL_MEMORY) && has(WEIR_CAP_DEVICE_ADDRESS))
    calls.emplace_back("memory_wrap", [&] { wrapped(memory, 0, 64); });
  calls.emplace_back("stream_synchronize", [&] { stream.synchronize(); });
  on_new_threads(calls);
}

WEIR_REQUIREMENT(
    3, 95, Threads, MakeCallsOfKernelsFirst,
    "Modules are loaded, asked, launched and unloaded on threads that have called nothing before.") {
  (void)ready_kernel("iota");  // or is unsupported
  std::optional<Kernel> iota;
  const Stream stream;
  const Memory out(800);
  on_new_threads(
      {{"module_load and module_get_kernel", [&] { iota.emplace("iota"); }},
       {"kernel_get_info", [&] { info_of(*iota); }},
       {"kernel_launch", [&] { iota->launch(stream, arguments(out, std::int64_t{100}, std::int64_t{3})); }},
       {"stream_synchronize", [&] { stream.synchronize(); }},
       {"module_unload", [&] { iota->unload(); }}});
  EXPECT_EQ(out.values<std::int64_t>(), iota_values(100, 3));
}

WEIR_REQUIREMENT(
    5, 89, Threads, MakeCallsOfGraphsFirst,
    "Graphs are made, launched, updated and destroyed on threads that have called nothing before.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  const Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 4);
  Graph graph;
  on_new_threads({{"graph_create", [&] { graph = nodes.make(); }},
                  {"graph_update",
                   [&] {
                     weir_status status = new_status();
                     (void)table().graph_update(graph, 0, &nodes[0], &status);
                   }},
                  {"graph_launch", [&] { launch(graph, stream); }},
                  {"graph_destroy", [&] { graph.destroy(); }},
                  {"stream_synchronize", [&] { stream.synchronize(); }}});
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 4)));
}

WEIR_REQUIREMENT(4, 49, Callbacks, BeginWithoutAFlush,
                 "Work of an idle stream begins though nothing flushes, queries or waits for it.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream, other;
  const Memory memory(64);
  static std::atomic<int> called;
  called = 0;
  const auto count = [](void*) { ++called; };
  const Kernel iota("iota");
  enum class Behind { nothing, a_fill_of_another_stream, a_kernel };
  for (const Behind behind : {Behind::nothing, Behind::a_fill_of_another_stream, Behind::a_kernel}) {
    const Event event;
    if (behind == Behind::a_kernel) {
      iota.launch(stream, arguments(memory, std::int64_t{8}, std::int64_t{1}));
    } else if (behind == Behind::a_fill_of_another_stream) {
      fill<std::uint8_t>(other, memory, 0, 64, 1);
      event.record(other);
      stream.wait(event);
    }
    const int before = called;
    call(table().stream_host_callback, weir_stream(stream), weir_host_callback(count),
         static_cast<void*>(nullptr));
    EXPECT_TRUE(eventually([&] { return called != before; }))
        << "a host callback was submitted to an idle stream"
        << (behind == Behind::nothing    ? ""
            : behind == Behind::a_kernel ? ", behind a kernel,"
                                         : ", behind a fill of another one,")
        << " and did not begin: no other call was made. driver.h: submitted work starts within a bounded "
           "time even without stream_flush. Look first at work that a driver batches";
    stream.synchronize();
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(3, 96, Kernels, BeginWithoutAFlush,
                 "A kernel on an idle stream begins though no call follows its launch.") {
  const Kernel iota("iota");
  const bool pinned = has(WEIR_CAP_PINNED_MEMORY);
  const Memory memory(64, pinned ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE);
  auto* const first = pinned ? static_cast<std::int64_t*>(memory.info().host_pointer) : nullptr;
  if (first) *first = 0;
  const Stream stream;
  iota.launch(stream, arguments(memory, std::int64_t{8}, std::int64_t{1}));
  bool ran = false;
  if (first) {
    ran = eventually([&] { return std::atomic_ref(*first) == 1; });
  } else {  // nothing shows that it ran but a call, and only the first one
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ran = stream.done();
  }
  EXPECT_TRUE(ran)
      << "a kernel was launched on an idle stream and did not run: no other call was made. driver.h: "
         "submitted work starts within a bounded time even without stream_flush. Look first at "
         "launches that a driver collects";
  stream.synchronize();
}

}  // namespace
}  // namespace weir::conformance
