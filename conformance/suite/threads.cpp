// SPDX-License-Identifier: Apache-2.0
// Levels 2 and 5: several threads create, use and destroy streams, events and graphs at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "at_once.hpp"
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(
    2, 81, Streams, ThreadsCreateAndDestroyAtOnce,
    "Threads create and destroy streams and events at the same time, each with handles of its own.") {
  device();
  create_at_once<weir_event>(
      "events",
      [on = device(), create = quick_table().event_create](weir_event* out, weir_status* status) {
        return create(on, WEIR_EVENT_PLAIN, out, status);
      },
      quick_table().event_destroy);
  create_at_once<weir_stream>(
      "streams",
      [on = device(), create = quick_table().stream_create](weir_stream* out, weir_status* status) {
        return create(on, nullptr, out, status);
      },
      quick_table().stream_destroy);
}

WEIR_REQUIREMENT(
    2, 83, Streams, ThreadsSubmitToOneAtOnce,
    "Threads submit to one stream at the same time: each one's work runs once and in its order.") {
  constexpr int threads = 4;
  constexpr std::uint64_t each = 400, bytes = 8 * (each + 1);
  const Stream stream;
  const Memory memory(threads * bytes);
  memory.write(Bytes(memory.size(), 0xff));
  std::atomic<int> failed{0};
  at_once(threads, [&](int i) {
    const std::uint64_t base = static_cast<std::uint64_t>(i) * bytes;
    const std::uint64_t value = 1000 + static_cast<std::uint64_t>(i);
    const weir_allocation to = memory;
    if (result_of(table().fill, weir_stream(stream), to, base, std::uint64_t{8},
                  static_cast<const void*>(&value), 8u) != WEIR_OK)
      ++failed;
    // Each copies what the one before it wrote.
    for (std::uint64_t k = 0; k < each; ++k)
      if (result_of(table().copy_on_device, weir_stream(stream), to, base + 8 * (k + 1), to, base + 8 * k,
                    std::uint64_t{8}) != WEIR_OK)
        ++failed;
  });
  stream.synchronize();
  EXPECT_EQ(failed, 0) << "of the submissions";
  const auto values = memory.values<std::uint64_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 1000 + i / (each + 1))
        << threads << " threads submitted to one stream at the same time: each a fill and " << each
        << " copies, of which each copies the 8 bytes that the one before it wrote. Work " << i % (each + 1)
        << " of thread " << i / (each + 1)
        << " was lost or ran out of order. driver.h: calls that submit to one "
        << "stream from several threads take effect one after the other. Look first at the lock of the "
           "stream's queue";
}

WEIR_REQUIREMENT(2, 84, Events, ThreadsUseOneAtOnce,
                 "Threads record one event, query it and let streams wait for it at the same time; then it "
                 "reports its last "
                 "record.") {
  const Memory memory(64);
  for (const bool timed : {false, true}) {
    if (timed && !has(WEIR_CAP_TIMED_EVENTS)) continue;
    const Event event(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
    std::vector<Stream> streams(racers);
    // The streams have run different numbers of submissions, so that a mark that mixes two records is never
    // reached.
    for (std::size_t i = 0; i < streams.size(); ++i)
      for (std::size_t k = 0; k < 2000 * i; ++k) {
        fill<std::uint8_t>(streams[i], memory, 0, 64, 1);
        if (k % 400 == 0) streams[i].synchronize();
      }
    std::atomic<int> failed{0};
    const Race race = new_race();
    do {
      at_once(racers, [&](int i) {
        const weir_stream own = streams[static_cast<std::size_t>(i)];
        weir_status status = new_status();
        const auto expect_ok = [&](weir_result result) {
          failed += result != WEIR_OK && result != WEIR_NOT_READY;
        };
        for (int round = 0; round < 200; ++round) {
          for (int k = 0; k < (timed ? 2 : 8); ++k)
            expect_ok(quick_table().event_record(event, own, &status));
          expect_ok(quick_table().stream_wait_event(own, event, &status));
          expect_ok(quick_table().event_query(event, &status));
        }
      });
      EXPECT_EQ(failed, 0) << "of the calls of " << racers
                           << " threads that used one event at the same time failed";
      for (const Stream& stream : streams)
        EXPECT_TRUE(eventually([&] { return stream.done(); }))
            << racers
            << " threads recorded one event, each on its stream, and let their streams wait for it at the "
               "same "
            << "time. A stream waits for a record that is never reached. driver.h: every function may be "
               "called from "
            << "several threads at once for one object. Look first at how stream_wait_event reads the "
               "event's mark and keeps several waits of one stream, and at the lock of the mark";
      EXPECT_TRUE(event.done())
          << "all streams are done, and event_query of an event that " << racers
          << " threads recorded on them at the same time returned WEIR_NOT_READY. Look first at "
          << "the lock of the event's mark";
      if (HasFailure()) return;
      event.synchronize();
    } while (race.goes_on());
    // The event is whole: it holds back a stream that waits for a held record, and lets it go.
    Gate gate;
    gate.hold(streams[0]);
    event.record(streams[0]);
    streams[1].wait(event);
    streams[1].flush();
    EXPECT_FALSE(event.done()) << "the event was recorded on a held stream after that";
    gate.open();
    streams[1].synchronize();
    EXPECT_TRUE(event.done());
  }
}

/// One thread records an event on two held streams by turns, and others query it. One stream has done far
/// more work than the other one will ever have submitted, so that it has long passed the marks of the other
/// one.
void query_while_recorded_by_turns() {
  const Memory memory(64);
  const Stream busy, other;
  const Event event, end_of_hold;
  for (int i = 0; i < 8000; ++i) {
    fill<std::uint8_t>(busy, memory, 0, 64, 1);
    if (i % 400 == 0) busy.synchronize();
  }
  busy.synchronize();
  std::atomic<int> reached{0}, all{0};
  std::atomic<unsigned> turn{0};  // odd while the event is recorded on held streams only
  {
    std::jthread querying([&](const std::stop_token& stopped) {
      at_once(racers, [&](int) {
        weir_status status = new_status();
        while (!stopped.stop_requested()) {
          int others = 0;
          const unsigned before = turn;
          for (int k = 0; k < 8; ++k) others += quick_table().event_query(event, &status) != WEIR_NOT_READY;
          if (before % 2 == 1 && before == turn) reached += others;
          all += 8;
        }
      });
    });
    const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 250));
    while (reached == 0 && race.goes_on()) {
      weir_status status = new_status();
      Gate gate;
      gate.hold(busy);
      end_of_hold.record(busy);
      other.wait(end_of_hold);
      event.record(busy);
      ++turn;
      // Fewer than 500 submissions to each stream, for which a driver has room.
      for (int k = 0; k < 960; ++k) {
        (void)quick_table().event_record(event, k % 2 ? busy : other, &status);
        // So that most of the time passes between these records, and not between two holds.
        for (int q = 0; q < 3; ++q) reached += quick_table().event_query(event, &status) != WEIR_NOT_READY;
      }
      ++turn;
      gate.open();
      busy.synchronize();
      other.synchronize();
    }
  }
  EXPECT_EQ(reached, 0) << "of " << all
                        << " calls of event_query did not return WEIR_NOT_READY, although a thread recorded "
                           "the event on two held streams by turns. Look first at how event_query reads the "
                           "stream and the mark";
}

WEIR_REQUIREMENT(2, 98, Events, AReachedOneIsReachedForAllThreads,
                 "event_query of a reached event returns WEIR_OK in every thread, however many call it; that "
                 "of an event that a thread records on held streams by turns returns WEIR_NOT_READY.") {
  const Memory memory(64);
  const Stream stream;
  const Event event;
  fill<std::uint8_t>(stream, memory, 0, 64, 1);
  event.record(stream);
  event.synchronize();
  std::atomic<int> others{0}, all{0};
  const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 100));
  at_once(racers, [&](int) {
    weir_status status = new_status();
    while (others == 0 && race.goes_on())
      for (int i = 0; i < 64; ++i) {
        others += quick_table().event_query(event, &status) != WEIR_OK;
        ++all;
      }
  });
  EXPECT_EQ(others, 0) << "of " << all << " calls of event_query on " << racers
                       << " threads at the same time did not return WEIR_OK, although the event was reached. "
                          "Look first at what event_query does if another thread holds the event's lock";
  if (Gate::possible() && !HasFailure()) query_while_recorded_by_turns();
}

WEIR_REQUIREMENT(
    5, 56, Graphs, ThreadsMakeThemAtOnce,
    "Threads make, launch and destroy graphs of their own at the same time; each runs its own nodes.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint32_t max_nodes = 128, together = 16;
  std::vector<Memory> memories;
  for (int i = 0; i < racers; ++i) memories.emplace_back(max_nodes);
  std::vector<Stream> streams(racers);
  std::mutex mutex;
  std::string wrong;
  std::atomic<bool> stop{false};
  const Race race = new_race();
  at_once(racers, [&](int i) {
    const auto thread = static_cast<std::size_t>(i);
    const weir_stream stream = streams[thread];
    for (std::uint32_t round = thread; !stop && race.goes_on(); round += racers) {
      // Different numbers of nodes on each thread.
      const std::uint32_t count = 2 + round % (max_nodes - 2);
      const auto value = static_cast<std::uint8_t>(1 + round % 250);
      std::uint8_t zeros[max_nodes] = {}, found[together][max_nodes] = {};
      weir_graph graphs[together] = {};
      weir_status status = new_status();
      weir_result result = WEIR_OK;
      for (std::uint32_t g = 0; g < together && result == WEIR_OK; ++g) {
        GraphNodes nodes;
        nodes.copy_to_device(memories[thread], zeros, max_nodes);
        std::vector<std::uint32_t> fills;
        for (std::uint32_t k = 0; k < count; ++k)
          fills.push_back(nodes.fill<std::uint8_t>(memories[thread], k, 1, value, {0}));
        nodes.depend(nodes.copy_to_host(found[g], memories[thread], max_nodes), fills);
        const auto given = nodes.pointers();
        result = quick_table().graph_create(device(), nodes.size(), given.data(), &graphs[g], &status);
        if (result == WEIR_OK) result = quick_table().graph_launch(graphs[g], stream, &status);
      }
      (void)quick_table().stream_synchronize(stream, &status);
      for (const weir_graph graph : graphs)
        if (graph) (void)quick_table().graph_destroy(graph, &status);
      const bool right = std::ranges::all_of(found, [&](const auto& bytes) {
        for (std::uint32_t k = 0; k < max_nodes; ++k)
          if (bytes[k] != (k < count ? value : 0)) return false;
        return true;
      });
      if (result == WEIR_OK && right) continue;
      const std::lock_guard lock(mutex);
      wrong = "a graph of a copy, " + std::to_string(count) +
              " fills of 1 byte after it and a copy back after these, made on thread " + std::to_string(i) +
              (result == WEIR_OK ? ", did not fill these bytes"
                                 : ": " + result_name(result) + ": " + status.message);
      stop = true;
    }
  });
  EXPECT_EQ(wrong, "")
      << "while " << racers << " threads made graphs at the same time. driver.h: every function may "
      << "be called from several threads at once. Look first at what graph_create keeps outside of "
      << "the graph";
}

}  // namespace
}  // namespace weir::conformance
