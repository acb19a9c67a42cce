// SPDX-License-Identifier: Apache-2.0
// Level 8: threads, exhaustion, long runs.
#include <atomic>
#include <barrier>
#include <cstring>
#include <deque>
#include <functional>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

/// Runs `work(i)` on `count` threads at once; an exception fails the test.
void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < count; ++i) EXPECT_EQ(failures[static_cast<std::size_t>(i)], "") << "on thread " << i;
}

WEIR_REQUIREMENT(8, 10, Threads, HaveStreamsOfTheirOwn,
                 "Eight threads work on streams and memory of their own at once.") {
  device();
  on_threads(8, [](int i) {
    const Memory a(65536), b(65536);
    Bytes host(65536);
    const Stream stream;
    const Event event;
    for (int round = 0; round < 200; ++round) {
      const auto value = static_cast<std::uint8_t>(i * 31 + round);
      fill<std::uint8_t>(stream, a, 0, 65536, value);
      call(table().copy_on_device, weir_stream(stream), weir_allocation(b), std::uint64_t{0},
           weir_allocation(a), std::uint64_t{0}, std::uint64_t{65536});
      call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(b),
           std::uint64_t{0}, std::uint64_t{65536});
      event.record(stream);
      round % 2 ? event.synchronize() : stream.synchronize();
      if (host != Bytes(65536, value))
        throw std::runtime_error("round " + std::to_string(round) + " read wrong data");
    }
  });
}

WEIR_REQUIREMENT(8, 11, Threads, ShareAStream,
                 "Eight threads submit to one stream; each one's work keeps its order, and none is lost.") {
  const Stream stream;
  const Memory memory(8 * 8 * 1001);
  Interruptions interruptions;
  std::barrier begin(8);
  for (int turn = 0; turn < 8; ++turn) {
    on_threads(8, [&](int i) {
      const Interruptions::Here here(interruptions);
      const std::uint64_t base = static_cast<std::uint64_t>(i) * 8 * 1001;
      const std::uint64_t value = static_cast<std::uint64_t>(8 * turn + i);
      weir_status status = new_status();
      begin.arrive_and_wait();
      // The suite's checks of each call would take longer than the call.
      weir_result result =
          quick_table().fill(stream, memory, base, 8, static_cast<const void*>(&value), 8, &status);
      for (std::uint64_t k = 0; k < 1000 && result == WEIR_OK; ++k)
        result = quick_table().copy_on_device(stream, memory, base + 8 * (k + 1), memory, base + 8 * k, 8,
                                              &status);
      if (result != WEIR_OK) throw std::runtime_error(result_name(result) + ": " + status.message);
    });
    stream.synchronize();
    const auto values = memory.values<std::uint64_t>();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], static_cast<std::uint64_t>(8 * turn) + i / 1001)
          << "8 threads each submitted a fill and 1,000 copies to one stream. Look first at the lock of the "
             "stream's queue";
  }
}

WEIR_REQUIREMENT(8, 12, Threads, MakeAndDestroyObjects,
                 "Eight threads make, use and destroy streams, events and memory at once.") {
  device();
  on_threads(8, [](int i) {
    for (int round = 0; round < 150; ++round) {
      const Memory memory(1000 + static_cast<std::uint64_t>(round));
      const Stream first, second;
      const Event event;
      fill<std::uint8_t>(first, memory, 0, 1000, static_cast<std::uint8_t>(i));
      event.record(first);
      second.wait(event);
      fill<std::uint8_t>(second, memory, 0, 500, static_cast<std::uint8_t>(i + 100));
      second.synchronize();
      const Bytes bytes = memory.read(499, 2);
      if (bytes != Bytes{static_cast<std::uint8_t>(i + 100), static_cast<std::uint8_t>(i)})
        throw std::runtime_error("read wrong data");
    }
  });
}

WEIR_REQUIREMENT(8, 13, Threads, RecordAndWaitForOneEvent,
                 "Threads record, ask and wait for one event at once without harm.") {
  const Event event;
  const Memory memory(64);
  std::vector<Stream> streams(8);
  // The streams have run different numbers of submissions, so that a mark that mixes two records is never
  // reached.
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (std::size_t k = 0; k < 400 * i; ++k) {
      fill<std::uint8_t>(streams[i], memory, 0, 64, 1);
      if (k % 400 == 0) streams[i].synchronize();
    }
    streams[i].synchronize();
  }
  for (int turn = 0; turn < 40; ++turn) {
    Interruptions interruptions;
    on_threads(8, [&](int i) {
      const Interruptions::Here here(interruptions);
      const Stream& stream = streams[static_cast<std::size_t>(i)];
      for (int round = 0; round < 20; ++round) {
        event.record(stream);
        stream.wait(event);
        event.done();
      }
    });
    for (const Stream& stream : streams)
      ASSERT_TRUE(eventually([&] { return stream.done(); }))
          << "8 threads recorded one event, each on its stream, and let their streams wait for it at the "
             "same time. A "
             "stream waits for a record that is never reached. Look first at the lock of the event's mark";
    event.synchronize();
    ASSERT_TRUE(event.done()) << "event_synchronize returned, and event_query returned WEIR_NOT_READY";
  }
}

/// Three threads launch `sum`, each with 128 equal values, which differ from launch to launch.
void expect_large_blocks_apart(const Kernel& sum) {
  constexpr std::int64_t values = 128, launches = 100;
  const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 250));
  Interruptions interruptions;
  std::atomic<bool> failed{false};
  on_threads(3, [&](int i) {
    const Memory out(8 * launches);
    const Stream stream;
    std::vector<Bytes> blocks;
    for (std::int64_t k = 0; k < launches; ++k) {
      Arguments made;
      made.add(out, static_cast<std::uint64_t>(8 * k));
      for (std::int64_t n = 0; n < values; ++n) made.add(1000 * (i + 1) + k);
      made.pad_to(sum.ready().argument_bytes);
      blocks.push_back(made.bytes());
    }
    weir_status status = new_status();
    while (!failed && race.goes_on()) {
      {
        const Interruptions::Here here(interruptions);
        for (const Bytes& block : blocks) {
          weir_launch launch = sum.launch_of({});
          launch.arguments = block.data();
          if (quick_table().kernel_launch(stream, &launch, &status) != WEIR_OK)
            throw std::runtime_error(std::string("kernel_launch: ") + status.message);
        }
      }
      stream.synchronize();
      const auto sums = out.values<std::int64_t>();
      for (std::int64_t k = 0; k < launches; ++k) {
        const std::int64_t found = sums[static_cast<std::size_t>(k)], right = values * (1000 * (i + 1) + k);
        if (found == right) continue;
        failed = true;
        throw std::runtime_error("a launch with " + std::to_string(values) + " values of " +
                                 std::to_string(right / values) + " found the sum " + std::to_string(found) +
                                 "; three threads launch the kernel with other values. Look first at where "
                                 "kernel_launch keeps large argument blocks");
      }
    }
  });
}

WEIR_REQUIREMENT(8, 14, Threads, LaunchOneKernel,
                 "Eight threads launch one kernel with arguments of their own, also three threads with "
                 "argument blocks of more than 1024 bytes.") {
  const Kernel iota("iota");
  on_threads(8, [&](int i) {
    const Memory out(8 * 256);
    const Stream stream;
    for (std::int64_t round = 0; round < 300; ++round) {
      const std::int64_t base = round * 1000 + i;
      iota.launch(stream, arguments(out, std::int64_t{256}, base), 2);
      if (round % 10) continue;
      stream.synchronize();
      const auto values = out.values<std::int64_t>();
      for (std::int64_t k = 0; k < 256; ++k)
        if (values[static_cast<std::size_t>(k)] != base + k)
          throw std::runtime_error("another launch's arguments were used");
    }
    stream.synchronize();
  });
  if (const std::optional<Kernel> sum = kernel_if_any("sum_128"))
    if (sum->ready().argument_bytes <= info().max_argument_bytes) expect_large_blocks_apart(*sum);
}

WEIR_REQUIREMENT(8, 15, Threads, GoOnWhileOneWaits,
                 "While one thread waits in stream_synchronize, calls of other threads return.") {
  const Stream held, other;
  const Memory memory(4096);
  std::atomic<bool> waiting{false};
  Gate gate;
  gate.hold(held);
  std::thread waiter([&] {
    waiting = true;
    EXPECT_EQ(table().stream_synchronize(held, nullptr), WEIR_OK);
  });
  while (!waiting) std::this_thread::yield();
  on_threads(4, [&](int) {
    for (int round = 0; round < 100; ++round) {
      const Event event;
      fill<std::uint8_t>(held, memory, 0, 64, 1);  // submitted, also after the work that is waited for
      event.record(held);
      held.done();
      const Stream stream;
    }
  });
  EXPECT_FALSE(held.done()) << "stream_query of a stream that a host callback holds returned WEIR_OK";
  gate.open();
  waiter.join();
  held.synchronize();
}

WEIR_REQUIREMENT(8, 16, Threads, LoadAndUnloadCode,
                 "Eight threads load, look up, launch and unload code of their own at once.") {
  const Kernel once[] = {Kernel("iota"), Kernel("scale_add")};  // compiled before
  on_threads(8, [](int i) {
    const Memory out(8 * 16);
    const Stream stream;
    for (std::int64_t round = 0; round < 40; ++round) {
      fill<std::uint8_t>(stream, out, 0, out.size(), 0);
      if (i % 2) {
        const Kernel iota("iota");
        iota.launch(stream, arguments(out, std::int64_t{16}, round));
        stream.synchronize();
      } else {
        const Kernel scale_add("scale_add");
        const Memory in = Memory::of(std::vector<std::int64_t>(16, round));
        scale_add.launch(stream, arguments(out, in, std::int64_t{16}, std::int64_t{3}));
        stream.synchronize();
      }
      const auto values = out.values<std::int64_t>();
      for (std::int64_t k = 0; k < 16; ++k)
        if (values[static_cast<std::size_t>(k)] != (i % 2 ? round + k : 3 * round))
          throw std::runtime_error(
              "a kernel gave another result, while eight threads loaded and unloaded code at once: another "
              "module's kernel ran, or it counted as complete too early");
    }
  });
}

WEIR_REQUIREMENT(8, 17, Threads, MakeGraphs,
                 "Eight threads make, launch, update and destroy graphs of their own at once.") {
  needs(WEIR_CAP_GRAPHS);
  on_threads(8, [](int i) {
    const auto count = static_cast<std::uint32_t>(i + 1);
    const Memory memory(64 * count);
    const Stream stream;
    for (int round = 0; round < 150; ++round) {
      const auto value = static_cast<std::uint8_t>(i * 31 + round);
      fill<std::uint8_t>(stream, memory, 0, memory.size(), static_cast<std::uint8_t>(~value));
      GraphNodes nodes;
      for (std::uint32_t k = 0; k < count; ++k) nodes.fill<std::uint8_t>(memory, 64 * k, 64, value);
      const Graph graph = nodes.make();
      launch(graph, stream);
      stream.synchronize();
      if (memory.read() != Bytes(memory.size(), value))
        throw std::runtime_error("round " + std::to_string(round) + ": a graph of " + std::to_string(count) +
                                 " fills left memory unfilled, or filled it with another value");
    }
  });
}

WEIR_REQUIREMENT(
    8, 18, Threads, FailWithMessagesOfTheirOwn,
    "Of eight threads whose look-ups fail at once, each gets the message that names its kernel.") {
  std::deque<Kernel> kernels;  // of modules of their own, as look-ups in one module may exclude one another
  for (int i = 0; i < 8; ++i) kernels.emplace_back("iota");
  on_threads(8, [&](int i) {
    const Kernel& iota = kernels[static_cast<std::size_t>(i)];
    // Texts of different lengths, so that parts of two differ from both.
    const std::string name =
        "missing_" + std::string(static_cast<std::size_t>(10 * i + 1), static_cast<char>('a' + i));
    for (int round = 0; round < 3000; ++round) {
      weir_status status = new_status();
      weir_kernel out = nullptr;
      const weir_result result =
          table().module_get_kernel(iota.module(), name.c_str(), &iota.layout(), &out, &status);
      if (result == WEIR_ERROR_NOT_FOUND && std::strstr(status.message, name.c_str())) continue;
      const char* const named = std::strstr(status.message, "missing_");
      const bool of_another = named && named[std::strlen("missing_")] != 'a' + i;
      throw std::runtime_error("module_get_kernel of '" + name + "' returned " +
                               std::string(result_name(result)) +
                               (of_another ? " with the message of another thread: '"
                                           : " with a message that does not name it: '") +
                               status.message + "'. Look first at the memory in which messages are made");
    }
  });
}

WEIR_REQUIREMENT(
    8, 19, Threads, FillOneRangeInTurn,
    "Fills of one range in one stream by several threads take effect one after the other: the range "
    "never has bytes of two of them.") {
  constexpr std::uint64_t size = 1u << 20;
  const Memory memory(size);
  const Stream stream;
  for (int round = 0; round < 20; ++round) {
    on_threads(4, [&](int i) {
      for (int k = 0; k < 4; ++k)
        fill<std::uint8_t>(stream, memory, 0, size, static_cast<std::uint8_t>(16 * i + k));
    });
    stream.synchronize();
    const Bytes bytes = memory.read();
    ASSERT_TRUE(same_bytes(bytes, Bytes(size, bytes[0])))
        << "four threads filled one range in one stream; bytes of two fills are mixed. driver.h: calls that "
           "submit to one stream from several threads take effect one after the other. Look first at what "
           "fill holds while it works or submits";
  }
}

WEIR_REQUIREMENT(8, 20, Exhaustion, OfMemoryIsSurvived,
                 "When memory is exhausted allocations return WEIR_ERROR_OUT_OF_MEMORY; live memory stays "
                 "as it was, and freed memory can be allocated again.") {
  const Memory kept(1u << 20);
  kept.write(pattern(1u << 20));
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const weir_memory_options options = memory_options(std::max<std::uint64_t>(total / 16, 1));
  std::size_t first_time = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<Memory> held;
    weir_result result = WEIR_OK;
    while (result == WEIR_OK && held.size() < 64) {
      weir_allocation out = nullptr;
      result = result_of(table().memory_allocate, device(), &options, &out);
      if (result == WEIR_OK) held.emplace_back(out);
    }
    if (held.size() == 64) throw Unsupported("the device allocates four times the memory that it has");
    EXPECT_EQ(result, WEIR_ERROR_OUT_OF_MEMORY)
        << result_name(result) << " after " << held.size() << " of 16";
    EXPECT_TRUE(same_bytes(kept.read(), pattern(1u << 20))) << "while memory is exhausted";
    if (round == 0) first_time = held.size();
    // Other processes may use the device, so a little less may be available again.
    EXPECT_GE(2 * held.size(), first_time) << "of the freed pieces could be allocated again";
  }
}

WEIR_REQUIREMENT(8, 30, LongRuns, OfManySmallPieces,
                 "100,000 small pieces of work in one stream run, and queues do not grow without bound.") {
  const Stream stream;
  const Memory memory(4096);
  const Event event;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    fill<std::uint32_t>(stream, memory, 4 * (i % 1024), 4, i);
    if (i % 1000 == 999) event.record(stream);
    if (i % 10'000 == 9'999) event.synchronize();
  }
  stream.synchronize();
  const auto values = memory.values<std::uint32_t>();
  for (std::uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(values[i] % 1024, i);
  EXPECT_EQ(*std::ranges::max_element(values), 99'999u);
}

WEIR_REQUIREMENT(8, 31, LongRuns, OfManyLaunches,
                 "20,000 launches in one stream each do their work, in order.") {
  const Kernel append("append");
  const Memory log = Memory::of(std::vector<std::int64_t>(20'001, 0));
  const Stream stream;
  for (std::int64_t i = 0; i < 20'000; ++i) append.launch(stream, arguments(log, i));
  stream.synchronize();
  const auto values = log.values<std::int64_t>();
  EXPECT_EQ(values[0], 20'000);
  for (std::int64_t i = 0; i < 20'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i + 1)], i);
}

WEIR_REQUIREMENT(8, 32, LongRuns, OfManyEvents, "10,000 events exist at once, each with its own mark.") {
  const Stream stream;
  const Memory memory(64);
  std::vector<Event> events;
  for (int i = 0; i < 10'000; ++i) {
    events.emplace_back();
    if (i % 10 == 0) fill<std::uint8_t>(stream, memory, 0, 64, static_cast<std::uint8_t>(i));
    events.back().record(stream);
  }
  events.back().synchronize();
  for (const Event& event : events) ASSERT_TRUE(event.done());
  stream.synchronize();
}

}  // namespace
}  // namespace weir::conformance
