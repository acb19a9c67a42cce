// SPDX-License-Identifier: Apache-2.0
// Calls of threads whose floating-point environment is not the default one. Each call of the recorded table
// is checked for a change of it; a reset to the default would not show in other threads.
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "process/unusual_environment.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(
    2, 90, Threads, KeepTheirFloatingPointEnvironment,
    "Calls of devices, memory, streams, events, copies and fills leave a floating-point environment as it "
    "was that is not the default one.") {
  const weir_device on = device();
  const UnusualEnvironment unusual;
  std::uint32_t count = 0;
  weir_device opened = nullptr;
  std::uint64_t free = 0, total = 0;
  weir_device_info described{};
  described.struct_size = sizeof described;
  call(table().device_count, &count);
  call(table().device_get_info, judged().device, &described);
  call(table().device_open, judged().device, &opened);
  call(table().device_close, opened);
  call(table().device_get_memory, on, &free, &total);
  const Memory memory(4096), other(4096);
  (void)memory.info();
  const Stream stream, waiting;
  const Event event;
  memory.write(pattern(4096));
  fill<std::uint8_t>(stream, memory, 0, 64, 1);
  call(table().copy_on_device, weir_stream(stream), weir_allocation(other), std::uint64_t{0},
       weir_allocation(memory), std::uint64_t{0}, std::uint64_t{64});
  event.record(stream);
  waiting.wait(event);
  waiting.flush();
  waiting.synchronize();
  event.synchronize();
  EXPECT_TRUE(event.done());
  EXPECT_TRUE(waiting.done());
  EXPECT_TRUE(same_bytes(other.read(0, 64), Bytes(64, 1)));
  if (!has(WEIR_CAP_TIMED_EVENTS)) return;
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  end.record(stream);
  end.synchronize();
  double nanoseconds = -1;
  call(table().event_elapsed, weir_event(start), weir_event(end), &nanoseconds);
}

WEIR_REQUIREMENT(3, 69, Threads, KeepTheirFloatingPointEnvironmentInLaunches,
                 "Calls of modules and kernels leave a floating-point environment as it was that is not the "
                 "default one.") {
  (void)ready_kernel("iota");  // Weir's compiler is not judged here
  const Memory out(8 * 64);
  const Stream stream;
  const UnusualEnvironment unusual;
  const Kernel iota("iota");
  weir_kernel_info filled{};
  filled.struct_size = sizeof filled;
  call(table().kernel_get_info, iota.handle(), &filled);
  iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{5}));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>()[63], 68);
}

WEIR_REQUIREMENT(
    4, 82, Threads, KeepTheirFloatingPointEnvironmentInOptionalCalls,
    "Calls of stream-ordered, pinned and external memory and of host callbacks leave a floating-point "
    "environment as it was that is not the default one.") {
  if (!has(WEIR_CAP_STREAM_ORDERED_ALLOCATION) && !has(WEIR_CAP_HOST_CALLBACK) &&
      !has(WEIR_CAP_PINNED_MEMORY) && !has(WEIR_CAP_EXTERNAL_MEMORY))
    throw Unsupported("the device offers none of these");
  const Memory memory(4096);
  const Stream stream;
  const UnusualEnvironment unusual;
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
    const weir_memory_options options = memory_options(4096);
    weir_allocation made = nullptr;
    call(table().memory_allocate_async, weir_stream(stream), &options, &made);
    fill<std::uint8_t>(stream, made, 0, 64, 1);
    call(table().memory_free_async, weir_stream(stream), made);
  }
  if (has(WEIR_CAP_HOST_CALLBACK))
    call(table().stream_host_callback, weir_stream(stream), weir_host_callback([](void*) {}),
         static_cast<void*>(nullptr));
  if (has(WEIR_CAP_PINNED_MEMORY)) (void)Memory(4096, WEIR_MEMORY_PINNED).info();
  if (has(WEIR_CAP_EXTERNAL_MEMORY)) (void)wrapped(memory, 64, 64);
  stream.synchronize();
}

WEIR_REQUIREMENT(
    5, 79, Threads, KeepTheirFloatingPointEnvironmentInGraphs,
    "Calls of graphs leave a floating-point environment as it was that is not the default one.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 5);
  const auto given = nodes.pointers();
  const Stream stream;
  const UnusualEnvironment unusual;
  const Graph graph = nodes.make();
  (void)result_of(table().graph_update, weir_graph(graph), std::uint32_t{0}, given[0]);
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 5)));
}

}  // namespace
}  // namespace weir::conformance
