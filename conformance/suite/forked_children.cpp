// SPDX-License-Identifier: Apache-2.0
// Children made by fork while the driver has work.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "ordered_memory.hpp"
#include "process/forked.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

/// Runs `calls` in a child made by fork, which must end soon. `during` says what the parent did. `calls` gets
/// a function that names the call that comes next; the results of the calls do not matter. After a name that
/// begins with !, such as "!event_query returned WEIR_OK", the child has failed; nothing may be called after
/// it. The child then calls exit(), or _exit() without `exits`. Exit handlers of a vendor's library may need
/// locks of its threads, which hold them for a moment after they were given work; so a child that calls
/// exit() is made when they rest.
void run_in_a_child(const char* during,
                    const std::function<void(const std::function<void(const char*)>& calling)>& calls,
                    bool exits = true) {
  const Shared now;
  if (exits) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const pid_t child = fork();
  if (child < 0) throw Skipped(std::string("this process cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    calls([&](const char* name) { std::strcpy(now.text(), name); });
    if (*now.text() == '!') _exit(1);
    if (!exits) _exit(0);
    std::strcpy(now.text(), "exit");
    std::exit(0);
  }
  const auto limit = std::chrono::steady_clock::now() + patience() / 2.0;
  const std::optional<int> status = end_of(child, [&] { return std::chrono::steady_clock::now() < limit; });
  if (!status) {
    ADD_FAILURE()
        << "a child that was forked " << during << " hung in " << now.text()
        << "; driver.h: in such a child, functions return without waiting for work and the child can "
           "exit. Look first at what "
        << now.text() << " waits for, and at pthread_atfork";
  } else if (WIFSIGNALED(*status)) {
    ADD_FAILURE() << "a child that was forked " << during << " was ended by " << signal_of(*status) << " in "
                  << now.text();
  } else if (*now.text() == '!') {
    ADD_FAILURE()
        << "in a child that was forked " << during << ", " << now.text() + 1
        << ", although the parent's work had not run; driver.h: work that was incomplete at the fork "
           "never completes in the child, where a query of it or a wait for it returns an error";
  }
}

WEIR_REQUIREMENT(2, 70, Process, AForkedChildNeitherHangsNorCrashes,
                 "In a child made by fork while work is held, functions of the table return, queries of the "
                 "work and waits for it with an error, the child exits, and the parent goes on.") {
  Memory memory(64), other(64);
  Stream stream, destroyed;
  Event event, end;
  std::vector<Event> times;
  if (has(WEIR_CAP_TIMED_EVENTS)) {
    for (int i = 0; i < 2; ++i) times.emplace_back(WEIR_EVENT_TIMED);
    times[0].record(stream);
    stream.synchronize();
  }
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  event.record(stream);
  if (!times.empty()) times[1].record(stream);
  destroyed.wait(event);  // still has work when it is destroyed
  fill<std::uint8_t>(destroyed, other, 0, 64, 2);
  end.record(destroyed);
  destroyed.destroy();
  run_in_a_child("while work was held", [&](const auto& calling) {
    weir_status status = new_status();
    std::uint32_t count = 0;
    weir_device opened = nullptr;
    weir_stream made = nullptr;
    weir_event created = nullptr;
    weir_allocation allocated = nullptr;
    weir_memory_info filled{};
    filled.struct_size = sizeof filled;
    std::uint64_t free = 0, total = 0;
    const weir_memory_options options = memory_options(64);
    const std::uint8_t byte = 1;
    std::uint8_t host[64];
    const void* extension = nullptr;
    calling("device_count"), (void)table().device_count(&count, &status);
    calling("device_open"), (void)table().device_open(judged().device, &opened, &status);
    calling("device_get_memory"), (void)table().device_get_memory(device(), &free, &total, &status);
    calling("stream_create"), (void)table().stream_create(device(), nullptr, &made, &status);
    calling("event_create"), (void)table().event_create(device(), WEIR_EVENT_PLAIN, &created, &status);
    weir_result result = WEIR_OK;
    const auto names_no_error = [&](const char* ok, const char* not_ready) {
      if (!gate || (result != WEIR_OK && result != WEIR_NOT_READY)) return false;
      calling(result == WEIR_OK ? ok : not_ready);
      return true;
    };
    calling("stream_query"), result = table().stream_query(stream, &status);
    if (names_no_error("!stream_query returned WEIR_OK", "!stream_query returned WEIR_NOT_READY")) return;
    calling("event_query"), result = table().event_query(event, &status);
    if (names_no_error("!event_query returned WEIR_OK", "!event_query returned WEIR_NOT_READY")) return;
    if (!times.empty()) {
      double elapsed = 0;
      calling("event_elapsed"), result = table().event_elapsed(times[0], times[1], &elapsed, &status);
      if (names_no_error("!event_elapsed returned WEIR_OK", "!event_elapsed returned WEIR_NOT_READY")) return;
    }
    calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &allocated, &status);
    calling("memory_get_info"), (void)table().memory_get_info(memory, &filled, &status);
    calling("fill"), (void)table().fill(stream, memory, 0, 64, &byte, 1, &status);
    calling("copy_to_host"), (void)table().copy_to_host(stream, host, memory, 0, 64, &status);
    calling("event_record"), (void)table().event_record(event, stream, &status);
    calling("stream_wait_event"), (void)table().stream_wait_event(stream, event, &status);
    calling("stream_flush"), (void)table().stream_flush(stream, &status);
    calling("stream_synchronize"), result = table().stream_synchronize(stream, &status);
    if (names_no_error("!stream_synchronize returned WEIR_OK", "!stream_synchronize returned WEIR_NOT_READY"))
      return;
    calling("event_synchronize"), result = table().event_synchronize(event, &status);
    if (names_no_error("!event_synchronize returned WEIR_OK", "!event_synchronize returned WEIR_NOT_READY"))
      return;
    calling("event_destroy"), (void)table().event_destroy(event, &status);
    calling("stream_destroy"), (void)table().stream_destroy(stream, &status);
    calling("memory_free"), (void)table().memory_free(memory, &status);
    calling("get_extension"), (void)table().get_extension("weir.conformance.none", 1, &extension, &status);
    calling("device_close"), (void)table().device_close(device(), &status);
    calling("device_close"), (void)table().device_close(device(), &status);
  });
  if (gate) gate->open();
  fill<std::uint8_t>(stream, memory, 0, 64, 3);
  stream.synchronize();
  end.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 3))) << "in the parent, after the child";
}

WEIR_REQUIREMENT(2, 26, Process, AForkedChildNeedsNoLockOfOtherThreads,
                 "In a child made by fork while other threads call the driver, functions of the table "
                 "return.") {
  const Memory memory(64), other(64);
  const Stream stream, shared;
  // All threads use the same functions, so that one often holds a lock for which the others wait.
  enum Use { streams, events, allocations, submissions, uses };
  std::atomic<int> use{streams};
  const auto use_the_driver = [&](const std::stop_token& stopped, Interruptions& interruptions) {
    const Interruptions::Here here(interruptions);
    weir_status status = new_status();
    const weir_memory_options options = memory_options(64);
    const std::uint8_t byte = 1;
    while (!stopped.stop_requested()) {
      weir_stream made = nullptr;
      weir_event event = nullptr;
      weir_allocation allocated = nullptr;
      if (use == streams && quick_table().stream_create(device(), nullptr, &made, &status) == WEIR_OK)
        (void)quick_table().stream_destroy(made, &status);
      if (use == events && quick_table().event_create(device(), WEIR_EVENT_PLAIN, &event, &status) == WEIR_OK)
        (void)quick_table().event_destroy(event, &status);
      if (use == allocations &&
          quick_table().memory_allocate(device(), &options, &allocated, &status) == WEIR_OK)
        (void)quick_table().memory_free(allocated, &status);
      if (use == submissions && quick_table().fill(shared, other, 0, 64, &byte, 1, &status) == WEIR_OK)
        (void)quick_table().stream_synchronize(shared, &status);
    }
  };
  Interruptions interruptions;
  std::jthread others[4];
  for (std::jthread& thread : others)
    thread = std::jthread([&](const std::stop_token& stopped) { use_the_driver(stopped, interruptions); });
  for (int round = 0; round < (judged().thorough ? 1000 : 200) && !HasFailure(); ++round) {
    use = round % uses;
    run_in_a_child(
        "while other threads called the driver",
        [&](const auto& calling) {
          weir_status status = new_status();
          weir_stream made = nullptr;
          weir_event created = nullptr;
          weir_allocation allocated = nullptr;
          const weir_memory_options options = memory_options(64);
          const std::uint8_t byte = 1;
          std::uint64_t free = 0, total = 0;
          calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &allocated, &status);
          calling("stream_create"), (void)table().stream_create(device(), nullptr, &made, &status);
          calling("event_create"), (void)table().event_create(device(), WEIR_EVENT_PLAIN, &created, &status);
          calling("device_get_memory"), (void)table().device_get_memory(device(), &free, &total, &status);
          calling("fill"), (void)table().fill(stream, memory, 0, 64, &byte, 1, &status);
          calling("stream_query"), (void)table().stream_query(stream, &status);
          calling("stream_synchronize"), (void)table().stream_synchronize(stream, &status);
          if (created) calling("event_destroy"), (void)table().event_destroy(created, &status);
          if (made) calling("stream_destroy"), (void)table().stream_destroy(made, &status);
          if (allocated) calling("memory_free"), (void)table().memory_free(allocated, &status);
        },
        false);  // C2.70 and C5.34 exit; some vendors' exit handlers need threads
  }
}

WEIR_REQUIREMENT(
    3, 94, Process, AForkedChildDoesNotWaitForKernels,
    "In a child made by fork while work is held, the functions of modules and kernels return and the child "
    "exits.") {
  const Kernel iota("iota");
  const Memory memory(64);
  const Stream stream;
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  const Arguments values = arguments(memory, std::int64_t{8}, std::int64_t{1});
  const weir_launch launch = iota.launch_of(values);
  iota.launch(stream, values);
  run_in_a_child("while a launch was held", [&](const auto& calling) {
    weir_status status = new_status();
    weir_module loaded = nullptr;
    weir_kernel found = nullptr;
    weir_kernel_info filled{};
    filled.struct_size = sizeof filled;
    const weir_code_object object = iota.ready().code_object();
    const weir_kernel_layout layout = iota.layout();
    calling("kernel_get_info"), (void)table().kernel_get_info(iota.handle(), &filled, &status);
    calling("module_get_kernel"),
        (void)table().module_get_kernel(iota.module(), iota.ready().symbol.c_str(), &layout, &found, &status);
    calling("module_load"), (void)table().module_load(device(), &object, &loaded, &status);
    calling("kernel_launch"), (void)table().kernel_launch(stream, &launch, &status);
    calling("module_unload"), (void)table().module_unload(iota.module(), &status);
  });
  if (gate) gate->open();
  stream.synchronize();
  EXPECT_EQ(memory.values<std::int64_t>(), iota_values(8, 1)) << "in the parent, after the child";
}

WEIR_REQUIREMENT(
    4, 87, Process, AForkedChildDoesNotWaitForMemory,
    "In a child made by fork while most of the memory waits to be freed in a held stream, the functions that "
    "allocate and free memory return, and the child exits.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const Pieces pieces(free / 4 * 3);
  const Stream held, other;
  const weir_memory_options options = memory_options(pieces.size);
  std::vector<weir_allocation> large;
  for (std::uint64_t i = 0; i < pieces.count; ++i) large.push_back(allocate(held, pieces.size));
  Memory small(64);
  Gate gate;
  gate.hold(held);
  for (const weir_allocation one : large) free_on(held, one);
  held.flush();
  run_in_a_child("while most of the memory waited in a held stream to be freed", [&](const auto& calling) {
    weir_status status = new_status();
    weir_allocation made = nullptr;
    for (std::uint64_t i = 0; i < pieces.count; ++i) {
      calling("memory_allocate"), (void)table().memory_allocate(device(), &options, &made, &status);
      calling("memory_allocate_async"), (void)table().memory_allocate_async(other, &options, &made, &status);
    }
    calling("memory_free_async"), (void)table().memory_free_async(other, small, &status);
  });
  gate.open();
  held.synchronize();
  fill<std::uint8_t>(other, small, 0, 64, 5);
  other.synchronize();
  EXPECT_TRUE(same_bytes(small.read(), Bytes(64, 5))) << "in the parent, after the child";
}

WEIR_REQUIREMENT(
    5, 34, Process, AForkedChildDoesNotWaitForGraphs,
    "In a child made by fork while a graph is held, the functions of graphs return, the child exits, and the "
    "graph goes on in the parent.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 5);
  Graph graph = nodes.make();
  std::unique_ptr<Gate> gate;
  if (Gate::possible()) {
    gate = std::make_unique<Gate>();
    gate->hold(stream);
  }
  launch(graph, stream);
  const auto given = nodes.pointers();
  run_in_a_child("while a graph was held", [&](const auto& calling) {
    weir_status status = new_status();
    weir_graph made = nullptr;
    calling("graph_create"), (void)table().graph_create(device(), nodes.size(), given.data(), &made, &status);
    calling("graph_update"), (void)table().graph_update(graph, 0, given[0], &status);
    calling("graph_launch"), (void)table().graph_launch(graph, stream, &status);
    calling("graph_destroy"), (void)table().graph_destroy(graph, &status);
  });
  if (gate) gate->open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 5))) << "in the parent, after the child";
}

}  // namespace
}  // namespace weir::conformance
