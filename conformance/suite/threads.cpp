// SPDX-License-Identifier: Apache-2.0
// Calls on several threads at once, at the level of their functions. A driver that blocks in one call lets
// others proceed, all waiting threads continue, and several threads create and destroy objects.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

/// Runs `work(i)` on `count` threads that begin at the same time and are interrupted at any instruction.
template <class Work>
void at_once(int count, const Work& work) {
  std::barrier begin(count);
  Interruptions interruptions;
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const Interruptions::Here here(interruptions);
      begin.arrive_and_wait();
      work(i);
    });
}

Race new_race() {
  return Race(std::chrono::milliseconds(judged().thorough ? 2000 : 250));
}

/// One more than a small machine has cores: when one is interrupted, others run.
constexpr int racers = 3;

/// Creates and destroys objects on several threads at once; `create` and `destroy` return a result.
template <class Handle, class Create, class Destroy>
void create_at_once(const char* what, const Create& create, const Destroy& destroy) {
  std::mutex mutex;
  std::set<Handle> in_use;
  int twice = 0;
  std::atomic<int> failed{0};
  const Race race = new_race();
  at_once(racers, [&](int) {
    weir_status status = new_status();
    for (int round = 0; failed == 0 && race.goes_on(); ++round) {
      Handle made[32] = {};
      for (Handle& one : made)
        if (create(&one, &status) != WEIR_OK || !one) ++failed, one = nullptr;
      // Not in every round: it takes longer than the calls.
      if (round % 8 == 0) {
        {
          const std::lock_guard lock(mutex);
          for (const Handle one : made) twice += one && !in_use.insert(one).second;
        }
        const std::lock_guard lock(mutex);
        for (const Handle one : made) in_use.erase(one);
      }
      for (const Handle one : made)
        if (one && destroy(one, &status) != WEIR_OK) ++failed;
    }
  });
  EXPECT_EQ(twice, 0) << racers << " threads created and destroyed " << what
                      << " at the same time; so often, a handle was given "
                      << "out that another thread had not destroyed. driver.h: every function may be called "
                         "from several threads at "
                      << "once. Look first at the lock of the list that new objects are taken from";
  EXPECT_EQ(failed, 0)
      << "of the calls that created or destroyed " << what << " on " << racers
      << " threads at the same time failed. Look first at the lock of the driver's lists of objects "
      << "and at its counts of memory";
}

WEIR_REQUIREMENT(0, 57, Status, ThreadsGetTheirOwnMessages,
                 "Calls that fail on several threads at once each fill their own message.") {
  needs_device();
  // Different calls with texts of different lengths. A driver's text for one call may vary with the state of
  // the device; then it is not compared.
  const auto text_of = [](int thread) {
    weir_status status = new_status();
    weir_device opened = nullptr;
    weir_device_info filled{};
    filled.struct_size = sizeof filled;
    const void* extension = nullptr;
    std::string name(static_cast<std::size_t>(32 * thread + 1), static_cast<char>('a' + thread));
    switch (thread % 3) {
      case 0:
        (void)quick_table().device_open(device_count() + static_cast<std::uint32_t>(thread), &opened,
                                        &status);
        break;
      case 1:
        (void)quick_table().device_get_info(device_count() + 10'000, &filled, &status);
        break;
      default:
        (void)quick_table().get_extension(name.c_str(), 1, &extension, &status);
    }
    status.message[sizeof status.message - 1] = 0;
    return std::string(status.message);
  };
  constexpr int threads = 6;
  std::vector<std::string> expected;
  for (int i = 0; i < threads; ++i) {
    expected.push_back(text_of(i));
    if (text_of(i) != expected.back()) expected.back().clear();
  }
  std::mutex mutex;
  std::string wrong, instead_of;
  std::atomic<bool> stop{false};
  const Race race = new_race();
  at_once(threads, [&](int i) {
    const std::string& own = expected[static_cast<std::size_t>(i)];
    while (!own.empty() && !stop && race.goes_on()) {
      const std::string text = text_of(i);
      if (text == own) continue;
      const std::lock_guard lock(mutex);
      wrong = text, instead_of = own;
      stop = true;
    }
  });
  EXPECT_EQ(wrong, instead_of) << "threads made calls that fail at the same time, and one of them got this "
                                  "message instead of its own. "
                                  "driver.h: every function may be called from several threads at once, and "
                                  "the caller owns the status. "
                                  "Look first at the buffer in which the driver formats messages";
}

/// Two threads allocate while a third one frees the allocations of the previous round. If a count of memory
/// loses an update when an allocation and a deallocation coincide, no two deallocations can coincide and
/// compensate for it.
void hand_over_memory() {
  constexpr std::size_t each = 32;
  weir_allocation made[2][2][each] = {};  // of each round, by parity, and of each thread
  std::atomic<int> failed{0};
  const weir_memory_options options = memory_options(256);
  const auto free_all = [&](weir_allocation(&of_a_thread)[2][each], weir_status& status) {
    for (auto& list : of_a_thread)
      for (weir_allocation& one : list)
        if (one && quick_table().memory_free(std::exchange(one, nullptr), &status) != WEIR_OK) ++failed;
  };
  bool goes_on = true;
  unsigned round = 0;
  const Race race = new_race();
  const auto decide = [&]() noexcept {
    ++round;
    goes_on = failed == 0 && race.goes_on();
  };
  std::barrier end_of_round(3, decide);
  at_once(3, [&, on = device()](int i) {
    weir_status status = new_status();
    while (goes_on) {
      if (i == 2)
        free_all(made[(round + 1) % 2], status);
      else
        for (weir_allocation& one : made[round % 2][i])
          if (quick_table().memory_allocate(on, &options, &one, &status) != WEIR_OK) ++failed, one = nullptr;
      end_of_round.arrive_and_wait();
    }
  });
  weir_status status = new_status();
  for (auto& of_a_round : made) free_all(of_a_round, status);
  EXPECT_EQ(failed, 0)
      << "of the calls of two threads that allocated memory and of one that freed it failed. Look "
         "first at the lock of the count of allocated memory";
}

WEIR_REQUIREMENT(
    1, 62, Memory, ThreadsAllocateAtOnce,
    "Threads that allocate, fill, read and free memory at the same time have memory of their own.") {
  device();
  create_at_once<weir_allocation>(
      "memory",
      [on = device(), options = memory_options(256), allocate = quick_table().memory_allocate](
          weir_allocation* out, weir_status* status) { return allocate(on, &options, out, status); },
      quick_table().memory_free);
  hand_over_memory();
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  EXPECT_LE(free, total)
      << "more memory is free than the device has, after threads allocated and freed memory "
         "at the same time. Look first at the lock of the count of allocated memory";
}

WEIR_REQUIREMENT(1, 19, Memory, LargeMemoryOfThreadsKeepsItsContents,
                 "Large memory keeps its contents while another thread allocates and frees as much.") {
  constexpr std::uint64_t size = 48u << 20, end = 4096;
  std::atomic<int> lost{0};
  const Stream streams[2];
  at_once(2, [&](int i) {
    const weir_stream stream = streams[i];
    const weir_memory_options options = memory_options(size);
    for (int round = 0; round < 20; ++round) {
      weir_allocation memory = nullptr;
      Bytes found(end);
      const auto value = static_cast<std::uint8_t>(1 + round + 100 * i);
      const bool worked = result_of(table().memory_allocate, device(), &options, &memory) == WEIR_OK &&
                          result_of(table().fill, stream, memory, size - end, end,
                                    static_cast<const void*>(&value), 1u) == WEIR_OK &&
                          result_of(table().stream_synchronize, stream) == WEIR_OK;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (!worked ||
          result_of(table().copy_to_host, stream, static_cast<void*>(found.data()), memory, size - end,
                    end) != WEIR_OK ||
          result_of(table().stream_synchronize, stream) != WEIR_OK || found != Bytes(end, value))
        ++lost;
      if (memory) (void)result_of(table().memory_free, memory);
    }
  });
  EXPECT_EQ(lost, 0)
      << "of 40 allocations of " << size
      << " bytes failed or lost what a fill had written, while another thread allocated and "
         "freed as much. Look first at what memory_free does after it made the memory available";
}

WEIR_REQUIREMENT(
    1, 56, Fills, ThreadsFillNeighbours,
    "Threads that fill neighbouring bytes at the same time, each on a stream of its own, leave one "
    "another's bytes alone.") {
  constexpr int threads = 2;
  constexpr std::uint64_t begin = 17;  // inside a word
  const Memory memory(64);
  const Stream streams[threads];
  std::atomic<int> lost{0}, all{0};
  // `together`: how many of a thread's fills are in its stream at a time.
  const auto fill_and_look = [&](int i, std::size_t together, const Race& race) {
    const weir_stream stream = streams[i];
    const weir_allocation to = memory;
    const std::uint64_t offset = begin + static_cast<std::uint64_t>(i);
    weir_status status = new_status();
    std::uint8_t written[64] = {}, found[64] = {};
    for (std::uint8_t first = 1; lost == 0 && race.goes_on(); ++first) {
      bool worked = true;
      for (std::size_t k = 0; k < together; ++k, ++all) {
        written[k] = static_cast<std::uint8_t>(first + k);
        worked = worked && quick_table().fill(stream, to, offset, 1, &written[k], 1, &status) == WEIR_OK &&
                 quick_table().copy_to_host(stream, &found[k], to, offset, 1, &status) == WEIR_OK;
      }
      worked = worked && quick_table().stream_synchronize(stream, &status) == WEIR_OK;
      if (!worked || !std::ranges::equal(written, found)) ++lost;
    }
  };
  const std::chrono::milliseconds time(judged().thorough ? 1000 : 150);
  {
    const Race race(time);  // side by side, with the work of each thread back to back
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([&, i] { fill_and_look(i, 64, race); });
  }
  const Race race(time);  // interrupted, with work that some drivers leave to the thread that waits
  at_once(threads, [&](int i) { fill_and_look(i, 1, race); });
  EXPECT_EQ(lost, 0)
      << "times, of " << all
      << " fills of single bytes, one of up to 64 failed or lost its byte, while fills of the byte next to "
         "it ran "
         "on another stream. Look first at whether a fill writes whole words at the ends of its range";
}

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

/// Waits until threads are in `calls` calls of `slot`, and for a moment in which they fall asleep there.
void let_them_wait(const std::atomic<int>& calling, int calls) {
  while (calling < calls) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

WEIR_REQUIREMENT(
    2, 77, Events, AllWaitingThreadsGoOn,
    "All threads that wait in event_synchronize for one event, and in stream_synchronize for one stream, "
    "go on when it is reached.") {
  constexpr int each = 40;
  struct Waiting {
    std::atomic<int> calling{0}, of_event{0}, of_stream{0};
  };
  // Threads of a driver that is wrong never return, so that they must not use this function's variables.
  const auto state = std::make_shared<Waiting>();
  Stream held;
  Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  device();
  for (int i = 0; i < 2 * each; ++i)
    std::thread([state, i, on = weir_stream(held), mark = weir_event(event)] {
      ++state->calling;
      if (i % 2) {
        if (result_of(table().event_synchronize, mark) == WEIR_OK) ++state->of_event;
      } else {
        if (result_of(table().stream_synchronize, on) == WEIR_OK) ++state->of_stream;
      }
    }).detach();
  let_them_wait(state->calling, 2 * each);
  EXPECT_EQ(state->of_event + state->of_stream, 0) << "a thread went on while the stream was held";
  gate.open();
  if (eventually([&] { return state->of_event == each && state->of_stream == each; })) return;
  ADD_FAILURE() << each << " threads waited in event_synchronize for an event of a held stream and " << each
                << " in stream_synchronize for the stream. It went on, and only " << state->of_event
                << " and " << state->of_stream
                << " of them returned WEIR_OK. Look first at how many waiting threads are woken when a "
                << "mark is reached: notify_all, not notify_one";
  held.release();  // in use by the threads
  event.release();
}

/// Sends signals whose handler does nothing. The system does not restart calls that they interrupt.
class Signals {
 public:
  Signals() {
    struct sigaction ours {};
    ours.sa_handler = [](int) {};
    sigaction(SIGUSR1, &ours, &before_);
  }
  ~Signals() { sigaction(SIGUSR1, &before_, nullptr); }
  static void send(std::jthread& thread) { pthread_kill(thread.native_handle(), SIGUSR1); }

 private:
  struct sigaction before_ {};
};

WEIR_REQUIREMENT(2, 95, Streams, SignalsEndNoWait,
                 "A thread that takes signals in event_synchronize or stream_synchronize goes on waiting.") {
  const Stream held;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  std::atomic<int> calling{0}, returned{0};
  std::atomic<weir_result> results[2]{};
  {
    const Signals signals;
    std::jthread of_event([&] {
      ++calling;
      results[0] = result_of(table().event_synchronize, weir_event(event));
      ++returned;
    });
    std::jthread of_stream([&] {
      ++calling;
      results[1] = result_of(table().stream_synchronize, weir_stream(held));
      ++returned;
    });
    let_them_wait(calling, 2);
    for (int i = 0; i < 5 && returned == 0; ++i) {
      Signals::send(of_event);
      Signals::send(of_stream);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(returned, 0)
        << "event_synchronize or stream_synchronize returned while the stream was held, after a "
           "signal to its thread. driver.h: both wait until the work is complete. Look first at "
           "system calls that end with EINTR";
    gate.open();
  }
  EXPECT_EQ(results[0], WEIR_OK) << "event_synchronize";
  EXPECT_EQ(results[1], WEIR_OK) << "stream_synchronize";
}

WEIR_REQUIREMENT(
    2, 80, Streams, CallsProceedWhileThreadsWait,
    "While threads wait in event_synchronize and in stream_synchronize, calls for other streams, events "
    "and memory return, also of these two functions.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Memory memory(64), other(64);
  const Stream held, free;
  const Event event, reached;
  // Created first: stream_create may wait for work.
  Gate gate;
  gate.hold(held);
  event.record(held);
  std::atomic<int> calling{0};
  std::jthread in_event([&] {
    ++calling;
    (void)result_of(table().event_synchronize, weir_event(event));
  });
  std::jthread in_stream([&] {
    ++calling;
    (void)result_of(table().stream_synchronize, weir_stream(held));
  });
  let_them_wait(calling, 2);
  // A call that waits for one of the two threads lets the gate open late, which is a failure.
  fill<std::uint8_t>(free, memory, 0, 64, 1);
  reached.record(free);
  reached.synchronize();
  free.synchronize();
  (void)event.done();
  (void)held.done();
  held.flush();
  fill<std::uint8_t>(held, other, 0, 64, 1);
  {
    const Event made;
    made.record(free);
    made.synchronize();
    free.wait(made);
  }
  std::uint64_t unused = 0, total = 0;
  call(table().device_get_memory, device(), &unused, &total);
  weir_device opened = nullptr;
  call(table().device_open, judged().device, &opened);
  call(table().device_close, opened);
  (void)memory.info();
  free.synchronize();
  gate.open();
  held.synchronize();  // its fill uses memory of this function
}

}  // namespace
}  // namespace weir::conformance
