// SPDX-License-Identifier: Apache-2.0
// Every object is made and destroyed thousands of times. The number of heap blocks, descriptors, threads and
// mappings of the process must not grow with the number of rounds.
#include "leaks.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>

#include "driver/heap_blocks.hpp"
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

/// Resources that leaks increase.
struct Usage {
  std::int64_t blocks = 0;    ///< of the heap
  std::int64_t bytes = 0;     ///< of the heap, in use
  std::int64_t resident = 0;  ///< bytes of the process in memory
  std::int64_t mapped = 0;    ///< bytes of its address space; Linux joins mappings that are neighbours
  std::int64_t descriptors = 0, threads = 0, mappings = 0;

  static Usage now() {
    Usage usage;
    usage.blocks = heap_blocks();
    usage.bytes = heap_bytes();
    std::int64_t mapped = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> mapped >> resident;
    usage.resident = resident * sysconf(_SC_PAGESIZE);
    usage.mapped = mapped * sysconf(_SC_PAGESIZE);
    usage.descriptors = count_in("/proc/self/fd");
    usage.threads = count_in("/proc/self/task");
    std::ifstream maps("/proc/self/maps");
    usage.mappings = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    return usage;
  }
  Usage operator-(const Usage& other) const {
    return {blocks - other.blocks,           bytes - other.bytes,
            resident - other.resident,       mapped - other.mapped,
            descriptors - other.descriptors, threads - other.threads,
            mappings - other.mappings};
  }

 private:
  static std::int64_t count_in(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  }
};

constexpr int soon = 3, patient = 50;  // milliseconds; on a busy machine a driver's thread waits for its turn

/// The usage after the driver's threads have finished the work of the last call: when the number of blocks
/// has been the same for `milliseconds`, or after a time limit.
Usage settled(int milliseconds) {
  std::int64_t blocks = heap_blocks();
  for (int equal = 0, tries = 0; equal < milliseconds && tries < 20 * milliseconds; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t now = heap_blocks();
    equal = now == blocks ? equal + 1 : 0;
    blocks = now;
  }
  return Usage::now();
}

/// Whether `growth` is small enough for `objects` objects of which none leaks. A leak keeps at least one
/// block, descriptor, thread or mapping of each object. Growth below a quarter of that comes from pools and
/// from work in flight. Pools keep as many objects as were in flight at once. On a busy machine the CPU
/// driver's threads release destroyed streams late; its pool has grown by 3,600 streams of 344 bytes in
/// 50,000 rounds.
bool is_flat(const Usage& growth, std::int64_t objects) {
  const auto within = [](std::int64_t value, std::int64_t limit) { return std::abs(value) <= limit; };
  const std::int64_t few = objects / 4;
  return within(growth.blocks, few) && within(growth.bytes, std::max<std::int64_t>(32 * objects, 48 << 10)) &&
         growth.resident <= std::max<std::int64_t>(256 * objects, 1 << 20) &&
         growth.mapped <= std::max<std::int64_t>(1024 * objects, 256 << 10) &&
         within(growth.descriptors, few) && within(growth.threads, few) && within(growth.mappings, few);
}

}  // namespace

void expect_flat(const char* what, int cycles, const std::function<void()>& cycle, int together) {
  if (!counts_heap_blocks())
    throw Skipped("the heap of this build does not count blocks: it has a sanitizer");
  if (!judged().layer.library.empty()) throw Skipped("a layer keeps records of the calls");
  constexpr int longest = 5;  // times `cycles`
  for (int i = 0; i < cycles / 20 + 1; ++i) cycle();
  const Usage before = settled(soon);
  Usage growth, last = before;
  std::int64_t objects = 0;
  for (int round = 0; round < longest; ++round) {
    for (int i = 0; i < cycles; ++i) cycle();
    objects += std::int64_t{cycles} * together;
    Usage now = settled(soon);
    if (!is_flat(now - last, std::int64_t{cycles} * together)) now = settled(patient);
    const Usage of_round = now - std::exchange(last, now);
    const std::int64_t blocks_before = std::exchange(growth, now - before).blocks;
    // A pool that grew once because this thread ran ahead of the driver's keeps its size; a leak grows in
    // each round.
    if (is_flat(growth, objects) || is_flat(of_round, std::int64_t{cycles} * together) ||
        testing::Test::HasFailure())
      return;
    // A block of nearly each object, twice in a row, is a leak; more rounds would not change the result.
    const std::int64_t max_growth = std::int64_t{cycles} * together * 3 / 4;
    if (blocks_before >= max_growth && growth.blocks - blocks_before >= max_growth) break;
  }
  ADD_FAILURE()
      << objects << " rounds of " << what << " leaked: the heap changed by " << growth.blocks
      << " blocks and " << growth.bytes << " bytes, the process's memory by " << growth.resident
      << " bytes, its address space by " << growth.mapped << " bytes, its descriptors by "
      << growth.descriptors << ", threads by " << growth.threads << " and mappings by " << growth.mappings
      << ". Expected no growth with the number of rounds. Look first at what these calls allocate and who "
         "frees it";
}

int sometimes() {
  return judged().thorough ? often : 250;
}

namespace {

WEIR_REQUIREMENT(0, 48, Leaks, OfDevices,
                 "Opening, describing and closing a device 10,000 times leaks nothing.") {
  device();
  expect_flat("device_open, device_get_info, device_get_memory, device_close", often, [] {
    weir_device opened = nullptr;
    weir_device_info filled{};
    filled.struct_size = sizeof filled;
    std::uint64_t free = 0, total = 0;
    call(table().device_open, judged().device, &opened);
    call(table().device_get_info, judged().device, &filled);
    call(table().device_get_memory, opened, &free, &total);
    call(table().device_close, opened);
  });
}

WEIR_REQUIREMENT(
    1, 60, Leaks, OfMemory,
    "Allocating and freeing memory 10,000 times leaks nothing, also 200 times in each size from 64 KiB to "
    "8 MiB, and neither do fills and copies of 0 bytes.") {
  const Stream stream;
  expect_flat("memory_allocate, fill, memory_get_info, memory_free", often, [&] {
    const Memory memory(1000);
    fill<std::uint8_t>(stream, memory, 0, 1000, 1);
    (void)memory.info();
    stream.synchronize();
  });
  for (const std::uint64_t size : {64u << 10, 500'000u, 1u << 20, 8u << 20})
    expect_flat("memory_allocate and memory_free of 64 KiB to 8 MiB", 200,
                [&] { const Memory memory(size); });
  const Memory memory(64), other(64);
  expect_flat("fills and copies of 0 bytes", often, [&] {
    fill<std::uint8_t>(stream, memory, 0, 0, 1);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         weir_allocation(other), std::uint64_t{0}, std::uint64_t{0});
    call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         static_cast<const void*>(nullptr), std::uint64_t{0});
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(nullptr), weir_allocation(memory),
         std::uint64_t{0}, std::uint64_t{0});
  });
}

WEIR_REQUIREMENT(1, 61, Leaks, OfRefusedCalls, "10,000 refused calls leak nothing.") {
  const Stream stream;
  const Memory memory(100);
  expect_flat("refused allocations, a refused fill and refused copies", often, [&] {
    const weir_memory_options options = memory_options(0);
    weir_allocation out = nullptr;
    std::uint8_t byte = 1;
    const std::uint64_t past = 99, two = 2;
    const weir_allocation there = memory;
    const weir_memory_options huge = memory_options(std::uint64_t{1} << 60);
    (void)result_of(table().memory_allocate, device(), &options, &out);
    (void)result_of(table().memory_allocate, device(), &huge, &out);
    (void)result_of(table().fill, weir_stream(stream), there, past, two, static_cast<const void*>(&byte), 1u);
    (void)result_of(table().copy_to_device, weir_stream(stream), there, past, static_cast<const void*>(&byte),
                    two);
    (void)result_of(table().copy_to_host, weir_stream(stream), static_cast<void*>(&byte), there, past, two);
    (void)result_of(table().copy_on_device, weir_stream(stream), there, past, there, std::uint64_t{0}, two);
  });
  // No process has so many addresses, but no check of the options refuses them.
  expect_flat("an allocation for which there is no memory", sometimes(), [] {
    const weir_memory_options options = memory_options(std::uint64_t{1} << 47);
    weir_allocation out = nullptr;
    if (result_of(table().memory_allocate, device(), &options, &out) == WEIR_OK)
      (void)result_of(table().memory_free, out);
  });
}

WEIR_REQUIREMENT(
    2, 72, Leaks, OfStreams,
    "Creating, using and destroying a stream leaks nothing: 10,000 with one operation, and 4 with "
    "5,000 that waited at once.") {
  const Memory memory(64);
  expect_flat("stream_create, fill, stream_synchronize, stream_destroy", often, [&] {
    const Stream stream;
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
    stream.synchronize();
  });
  if (!Gate::possible()) return;
  constexpr int together = 5000;  // more than a stream may keep for later work
  expect_flat(
      "fills of a stream, of which 5,000 wait at once", 4,
      [&] {
        const Stream stream;
        Gate gate;
        gate.hold(stream);
        const OpensLater later(gate);  // a driver may block before all are submitted
        for (int i = 0; i < together; ++i) fill<std::uint8_t>(stream, memory, 0, 64, 1);
        gate.open();
        stream.synchronize();
      },
      together);
}

WEIR_REQUIREMENT(2, 88, Leaks, OfWaitsForStreamsThatWait,
                 "Waiting 2,500 times for a stream whose work waits for events of other streams leaks "
                 "nothing.") {
  constexpr std::uint64_t size = 128u << 10;  // still being filled when the host waits
  const Memory memory(size), small(64);
  const auto cycle = [&] {
    const Stream first, second, third;
    const Event event, next;
    for (std::uint8_t i = 0; i < 4; ++i) fill<std::uint64_t>(first, memory, 0, size, i);
    event.record(first);
    second.wait(event);
    fill<std::uint8_t>(second, small, 0, 64, 1);
    next.record(second);
    third.wait(next);
    fill<std::uint8_t>(third, small, 0, 64, 2);
    third.synchronize();
  };
  expect_flat("stream_create, fill, event_record, stream_wait_event, stream_synchronize, stream_destroy",
              often / 4, cycle, 3);
}

WEIR_REQUIREMENT(2, 73, Leaks, OfStreamsDestroyedWhileBusy,
                 "Destroying 10,000 streams while they are busy leaks nothing.") {
  needs(WEIR_CAP_HOST_CALLBACK);  // without it, nothing holds streams for so short a time
  const Memory memory(64);
  const Stream held;
  constexpr int together = 50;
  const auto cycle = [&] { destroy_busy_streams(held, memory, together); };
  expect_flat("50 streams that wait for a held one, each destroyed while it is busy", often / together, cycle,
              together);
  if (!has(WEIR_CAP_CONCURRENT_STREAMS)) return;
  const auto pairs = [&] {
    std::vector<Stream> first(together), second(together);
    std::vector<Event> marks(together), ends(together);
    const Event begin;
    Gate gate;
    gate.hold(held);
    begin.record(held);
    for (std::size_t i = 0; i < together; ++i) {
      first[i].wait(begin);
      fill<std::uint8_t>(first[i], memory, 0, 64, 1);
      marks[i].record(first[i]);
      second[i].wait(marks[i]);
      fill<std::uint8_t>(second[i], memory, 0, 64, 2);
      ends[i].record(second[i]);
      first[i].destroy();
    }
    gate.open();
    for (const Event& end : ends) end.synchronize();
  };
  expect_flat("50 streams that wait for 50 others, which are destroyed while they are busy",
              often / together / 4, pairs, 2 * together);
}

WEIR_REQUIREMENT(2, 74, Leaks, OfEvents,
                 "Recording, waiting for, querying and destroying an event on a new stream 10,000 times "
                 "leaks nothing, and "
                 "neither do waits for an event without a mark, queries of held work, and events that are "
                 "destroyed without a mark or before it is reached.") {
  const Stream waiting;
  const bool timed = has(WEIR_CAP_TIMED_EVENTS);
  expect_flat("event_create, event_record three times, stream_wait_event, event_synchronize, event_destroy",
              often, [&] {
                const Stream stream;
                const Event event(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN), plain;
                event.record(waiting);
                event.record(stream);
                plain.record(stream);
                plain.record(stream);
                waiting.wait(event);
                waiting.wait(plain);
                event.synchronize();
                (void)event.done();
                plain.synchronize();
                waiting.synchronize();
              });
  const Event unrecorded;
  expect_flat("stream_wait_event of an event without a mark, and stream_flush of an idle stream", often, [&] {
    waiting.wait(unrecorded);
    waiting.flush();
  });
  expect_flat("event_create and event_destroy", often, [&] { const Event event; });
  if (!Gate::possible()) return;
  const Event pending, stamp(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
  Gate gate;
  gate.hold(waiting);
  pending.record(waiting);
  stamp.record(waiting);
  expect_flat("stream_query, event_query and event_elapsed while the work is held", often, [&] {
    (void)waiting.done();
    (void)pending.done();
    double elapsed = 0;
    if (timed) (void)table().event_elapsed(stamp, stamp, &elapsed, nullptr);
  });
  gate.open();
  waiting.synchronize();
  constexpr int together = 100;
  expect_flat(
      "event_record of 100 events on a held stream, and event_destroy before they are reached",
      often / together / 4,
      [&] {
        const Stream held;
        Gate destroyed;
        destroyed.hold(held);
        for (int i = 0; i < together; ++i) {
          const Event event;
          event.record(held);
        }
        destroyed.open();
        held.synchronize();
      },
      together);
}

WEIR_REQUIREMENT(
    2, 82, Leaks, OfRecordsOnOtherStreams,
    "An event that is recorded on 10,000 streams, one after the other, which are then destroyed, keeps "
    "none of them.") {
  const Event plain;
  std::vector<Event> timed;
  if (has(WEIR_CAP_TIMED_EVENTS)) timed.emplace_back(WEIR_EVENT_TIMED);
  expect_flat("stream_create, event_record of an older event, stream_synchronize, stream_destroy", often,
              [&] {
                const Stream stream;
                plain.record(stream);
                for (const Event& event : timed) event.record(stream);
                stream.synchronize();
              });
}

WEIR_REQUIREMENT(2, 75, Leaks, OfRefusedEvents,
                 "Refusing an event with unknown flags 10,000 times leaks nothing.") {
  device();
  expect_flat("a refused event_create", often, [] {
    weir_event out = nullptr;
    (void)result_of(table().event_create, device(), 0x100u, &out);
  });
}

/// A driver that runs code of the host's processor may give each thread that runs blocks memory for them. The
/// libraries under other drivers may keep something of each thread.
void expect_threads_to_leave_nothing() {
  const std::optional<Kernel> shared = kernel_if_any("shared");
  if (!shared || shared->ready().format != "elf-x86_64" || max_dynamic_bytes(*shared) < 4096) return;
  const Memory out(8);
  expect_flat("a thread that launches a kernel with dynamic shared memory, and ends", 200, [&] {
    std::thread([&] {
      const Stream stream;
      const Arguments values = [&] {
        Arguments made = arguments(out, std::int64_t{4096});
        made.pad_to(shared->ready().argument_bytes);
        return made;
      }();
      weir_launch launch = shared->launch_of(values, {1, 1, 1}, {1, 1, 1}, 4096);
      launch.arguments = values.bytes().data();
      call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&launch));
      stream.synchronize();
    }).join();
  });
}

WEIR_REQUIREMENT(
    3, 59, Leaks, OfModulesAndLaunches,
    "Loading, launching and unloading a module 250 times, or 10,000 times with --thorough, "
    "10,000 launches of one kernel, and 200 threads that launch one of the host's code with dynamic "
    "shared memory, leak nothing.") {
  const Memory out(8 * 64);
  const Stream stream;
  expect_flat("module_load, module_get_kernel, kernel_launch, module_unload", sometimes(), [&] {
    const Kernel iota("iota");
    iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{1}));
    stream.synchronize();
  });
  const Kernel iota("iota");
  expect_flat("kernel_launch", often, [&] {
    iota.launch(stream, arguments(out, std::int64_t{64}, std::int64_t{1}));
    stream.synchronize();
  });
  expect_threads_to_leave_nothing();
}

WEIR_REQUIREMENT(3, 61, Leaks, OfLookUps,
                 "Looking up a kernel, and one that is missing, 10,000 times leaks nothing.") {
  const Kernel iota("iota");
  expect_flat("module_get_kernel, kernel_get_info, and module_get_kernel of a missing kernel", often, [&] {
    weir_kernel found = nullptr, missing = nullptr;
    weir_kernel_info filled{};
    filled.struct_size = sizeof filled;
    call(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(), &iota.layout(), &found);
    call(table().kernel_get_info, found, &filled);
    (void)result_of(table().module_get_kernel, iota.module(), "no_such_kernel", &iota.layout(), &missing);
  });
}

WEIR_REQUIREMENT(3, 63, Leaks, OfLargeArguments,
                 "10,000 launches with an argument block of more than 800 bytes leak nothing.") {
  const Kernel sum("sum_values");
  const Memory out(8);
  Arguments values = arguments(out);
  while (values.bytes().size() < sum.layout().argument_bytes) values.add(std::int64_t{1});
  const Stream stream;
  expect_flat("kernel_launch with a large argument block", often, [&] {
    sum.launch(stream, values);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(3, 64, Leaks, OfRefusedCode,
                 "Refusing code objects, layouts and launches 10,000 times leaks nothing.") {
  const Kernel iota("iota");
  const Memory out(8 * 64);
  const Stream stream;
  weir_launch empty = iota.launch_of(arguments(out, std::int64_t{64}, std::int64_t{1}));
  empty.grid[0] = 0;
  weir_kernel_layout wrong = iota.layout();
  const weir_parameter outside = {wrong.argument_bytes, 8, WEIR_PARAMETER_VALUE};
  wrong.parameter_count = 1;
  wrong.parameters = &outside;
  // Each is refused at another point: what it is, what it is for, and what it contains. The last would take a
  // vendor's compiler too long if the code is a text.
  const Bytes noise = pattern(1000);
  weir_code_object unknown = iota.ready().code_object(), foreign = unknown, cut = unknown;
  unknown.data = noise.data();
  unknown.size = noise.size();
  foreign.target = "no-such-target";
  cut.size /= 2;
  std::vector<const weir_code_object*> refused{&unknown, &foreign};
  if (std::ranges::find(iota.ready().bytes, 0) < iota.ready().bytes.end() - 1) refused.push_back(&cut);
  expect_flat("a refused kernel_launch and a refused module_get_kernel", often, [&] {
    weir_kernel found = nullptr;
    (void)result_of(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&empty));
    (void)result_of(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(),
                    static_cast<const weir_kernel_layout*>(&wrong), &found);
  });
  expect_flat("calls of module_load that are refused", sometimes(), [&] {
    for (const weir_code_object* object : refused) {
      weir_module loaded = nullptr;
      const weir_result result = result_of(table().module_load, device(), object, &loaded);
      if (result == WEIR_OK) (void)result_of(table().module_unload, loaded);  // C3.06 or C3.17 fails then
    }
  });
}

}  // namespace
}  // namespace weir::conformance
