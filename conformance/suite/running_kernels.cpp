// SPDX-License-Identifier: Apache-2.0
// Levels 3 to 5: work before, around and after a kernel that runs. Most requirements hold a stream by a host
// callback, which ends in the driver. A kernel ends on the device, whose answers may come late.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "ordered_memory.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(3, 85, RunningKernels, LeaveEarlierEventsReached,
                 "An event that was recorded before a kernel is reached while the kernel runs, whatever was "
                 "submitted after it; other streams that wait for the event go on.") {
  // The last is more than most queues and sockets hold.
  for (const std::uint64_t large : {64u << 10, 1u << 20, 4u << 20, 16u << 20}) {
    HeldKernel held;
    const Memory memory(64), other(64), written(large);
    const HostMemory source(Bytes(large, 3));
    const Stream stream, waiting;
    const Event before;
    // Held, so that all of it reaches the device together.
    const auto gate = Gate::possible() ? std::make_unique<Gate>() : nullptr;
    if (gate) gate->hold(stream);
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
    before.record(stream);
    held.launch(stream);
    call(table().copy_to_device, weir_stream(stream), weir_allocation(written), std::uint64_t{0},
         static_cast<const void*>(source.data()), large);
    stream.flush();
    if (gate) gate->open();
    ASSERT_TRUE(held.starts()) << "the kernel did not start";
    const std::string advice =
        " although only work after its record has not ended: a kernel that runs, and a copy of " +
        std::to_string(large) +
        " bytes. Look first at when the device's answers about earlier work reach the host";
    EXPECT_TRUE(eventually([&] { return before.done(); })) << "event_query returned WEIR_NOT_READY" << advice;
    if (!HasFailure()) {
      before.synchronize();
      waiting.wait(before);
      fill<std::uint8_t>(waiting, other, 0, 64, 2);
      waiting.flush();
      EXPECT_TRUE(eventually([&] { return waiting.done(); }))
          << "a stream that waits for the event does not go on" << advice;
    }
    held.release();
    stream.synchronize();
    waiting.synchronize();
    EXPECT_TRUE(held.was_released())
        << "the kernel's time was up before the test released it: a call waited for it";
    EXPECT_TRUE(same_bytes(written.read(), Bytes(large, 3)));
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    3, 86, RunningKernels, AreMeasuredWhole,
    "The time between timed events before and after a kernel is the time that the kernel runs.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  using Clock = std::chrono::steady_clock;
  HeldKernel held;
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), together(WEIR_EVENT_TIMED), later(WEIR_EVENT_TIMED);
  const auto submitted = Clock::now();
  start.record(stream);
  held.launch(stream);
  together.record(stream);
  stream.flush();
  ASSERT_TRUE(held.starts()) << "the kernel did not start";
  const auto running = Clock::now();
  later.record(stream);
  stream.flush();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const std::chrono::duration<double, std::nano> shortest = Clock::now() - running;
  held.release();
  stream.synchronize();
  const std::chrono::duration<double, std::nano> longest = Clock::now() - submitted;
  for (const Event* const end : {&together, &later}) {
    double measured = -1;
    call(table().event_elapsed, weir_event(start), weir_event(*end), &measured);
    // Clocks of devices differ from that of the host by less.
    EXPECT_GT(measured, 0.95 * shortest.count())
        << "nanoseconds were measured around a kernel that ran for " << shortest.count()
        << " at least. The second event was recorded "
        << (end == &later ? "while the kernel ran" : "with the kernel's launch")
        << ". Look first at when its time is taken";
    EXPECT_LT(measured, 1.05 * longest.count())
        << "nanoseconds were measured around a kernel that ran for " << longest.count() << " at most";
  }
}

/// Calls that submit something behind a running kernel. What they need is made before, because a driver may
/// wait for work then.
class Followers {
 public:
  Followers() {
    const Stream stream;
    reached_.record(stream);
    stream.synchronize();
    if (has(WEIR_CAP_HOST_CALLBACK))
      all_.push_back({"stream_host_callback", [this](const Stream& to) {
                        const weir_host_callback callback = [](void* called) {
                          *static_cast<std::atomic<bool>*>(called) = true;
                        };
                        call(table().stream_host_callback, weir_stream(to), callback,
                             static_cast<void*>(&called_));
                      }});
    if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
      if (has(WEIR_CAP_EXTERNAL_MEMORY)) {
        external_ = wrapped(memory_, 0, 64);
        all_.push_back({"memory_free_async of external memory",
                        [this](const Stream& to) { free_on(to, external_.release()); }});
      }
      all_.push_back({"memory_free_async", [this](const Stream& to) { free_on(to, freed_.release()); }});
      all_.push_back({"memory_allocate_async and memory_free_async",
                      [](const Stream& to) { free_on(to, allocate(to, 64)); }});
    }
    all_.push_back({"a fill of 64 bytes",
                    [this](const Stream& to) { conformance::fill<std::uint8_t>(to, memory_, 0, 64, 1); }});
    all_.push_back({"a fill of 0 bytes",
                    [this](const Stream& to) { conformance::fill<std::uint8_t>(to, memory_, 0, 0, 1); }});
    all_.push_back(
        {"stream_wait_event for an event that is reached", [this](const Stream& to) { to.wait(reached_); }});
    all_.push_back({"stream_wait_event for an event that was never recorded",
                    [this](const Stream& to) { to.wait(unused_); }});
    if (has(WEIR_CAP_TIMED_EVENTS)) {
      timed_ = Event(WEIR_EVENT_TIMED);
      all_.push_back({"event_record of a timed event", [this](const Stream& to) { timed_.record(to); }});
    }
    if (has(WEIR_CAP_GRAPHS)) {
      GraphNodes nothing, work;
      nothing.empty();
      work.fill<std::uint8_t>(memory_, 0, 64, 2);
      for (const auto& [name, nodes] : {std::pair("graph_launch of a graph with an empty node", &nothing),
                                        std::pair("graph_launch of a graph with a fill", &work)}) {
        const auto graph = std::make_shared<Graph>(nodes->make());
        all_.push_back({name, [graph](const Stream& to) { conformance::launch(*graph, to); }});
      }
    }
  }

  struct Follower {
    const char* name;
    std::function<void(const Stream&)> submit;
  };
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;
  const std::vector<Follower>& all() const { return all_; }
  bool called() const { return called_; }

 private:
  std::vector<Follower> all_;
  const Memory memory_{64};
  Memory external_{weir_allocation{}}, freed_{64};
  const Event reached_, unused_;
  Event timed_;
  std::atomic<bool> called_{false};
};

/// A stream, or one that wraps its native handle.
class TestedStream {
 public:
  explicit TestedStream(bool wrap) {
    if (!wrap) return;
    void* native = nullptr;
    call(table().stream_get_native, weir_stream(own_), &native);
    wrapper_.emplace();
    wrapper_->destroy();
    call(table().stream_wrap, device(), native, wrapper_->out());
    remember_stream(*wrapper_);
  }
  const Stream& operator*() const { return wrapper_ ? *wrapper_ : own_; }

 private:
  const Stream own_;
  std::optional<Stream> wrapper_;
};

void expect_held(Followers& followers, const Followers::Follower& follower, bool wrap) {
  HeldKernel held;
  const TestedStream tested(wrap);
  const Stream& stream = *tested;
  const Stream waiting;
  const Memory memory(64), other(64);
  const Event before, after(has(WEIR_CAP_TIMED_EVENTS) ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
  const bool called = followers.called();
  // Held, so that all of it reaches the device together.
  const auto gate = Gate::possible() ? std::make_unique<Gate>() : nullptr;
  if (gate) gate->hold(stream);
  for (int i = 0; i < 40; ++i) fill<std::uint8_t>(stream, memory, 0, 64, 1);
  held.launch(stream);
  before.record(stream);
  follower.submit(stream);
  after.record(stream);
  waiting.wait(before);
  fill<std::uint8_t>(waiting, other, 0, 64, 1);
  for (const Stream* each : {&stream, &waiting}) each->flush();
  if (gate) gate->open();
  ASSERT_TRUE(held.starts()) << "the kernel did not start";
  const char* wrong = nullptr;
  const bool held_back = never(
      [&] {
        wrong = called != followers.called() ? "the callback was called"
                : before.done()              ? "an event between the kernel and that call was reached"
                : after.done()               ? "an event behind that call was reached"
                : waiting.done() ? "another stream that waits for an event behind the kernel was done"
                : stream.done()  ? "stream_query returned WEIR_OK"
                                 : nullptr;
        return wrong != nullptr;
      },
      std::chrono::milliseconds(15));
  EXPECT_TRUE(held_back)
      << "40 fills, a kernel that runs until the test releases it, and then " << follower.name
      << " were submitted to a stream" << (wrap ? " that wraps a native handle" : "")
      << ". While the kernel ran, " << (wrong ? wrong : "")
      << ". driver.h: streams run their work in order, and an event is a mark after the work so far. Look "
         "first at what that call, or stream_wait_event, counts as complete while earlier work is in flight "
         "on the device";
  held.release();
  stream.synchronize();
  waiting.synchronize();
  EXPECT_TRUE(testing::Test::HasFailure() || held.was_released())
      << "the kernel's time was up before the test released it: " << follower.name
      << ", event_record or stream_query waited for the kernel";
  EXPECT_TRUE(before.done() && after.done())
      << "stream_synchronize returned, and an event of the stream before or behind " << follower.name
      << " is not reached";
}

WEIR_REQUIREMENT(4, 18, RunningKernels, HoldAllThatFollows,
                 "While a kernel runs behind 40 fills, no event that was recorded behind it is reached, no "
                 "callback runs, no stream that waits for such an event goes on, and its stream is not done, "
                 "whatever was submitted after the kernel; also on streams that wrap a native handle.") {
  for (const bool wrap : {false, true}) {
    if (wrap && !has(WEIR_CAP_NATIVE_STREAM)) continue;
    Followers followers;
    for (const Followers::Follower& follower : followers.all()) {
      expect_held(followers, follower, wrap);
      if (HasFailure()) return;
    }
    EXPECT_EQ(followers.called(), Gate::possible());
  }
}

WEIR_REQUIREMENT(
    5, 85, RunningKernels, HoldTheEndOfTheirGraph,
    "While a kernel node of a graph with 150 other nodes runs, the run has not ended: events behind it are "
    "not reached, other streams that wait for them do not go on, and a run of the graph on another stream "
    "does not begin.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t count = 150;
  for (const bool first : {false, true}) {
    HeldKernel held;
    const Memory memory(64 * count), other(128);
    memory.write(Bytes(64 * count, 0));
    GraphNodes nodes;
    if (first) nodes.kernel(held.kernel(), held.arguments());
    for (std::uint64_t i = 0; i < count; ++i) nodes.fill<std::uint8_t>(memory, 64 * i, 64, 1);
    if (!first) nodes.kernel(held.kernel(), held.arguments());
    const Graph graph = nodes.make();
    const Stream stream, waiting, again;
    const Event event;
    launch(graph, stream);
    event.record(stream);
    waiting.wait(event);
    fill<std::uint8_t>(waiting, other, 0, 64, 1);
    fill<std::uint8_t>(stream, other, 64, 64, 2);
    launch(graph, again);
    for (const Stream* each : {&stream, &waiting, &again}) each->flush();
    ASSERT_TRUE(held.starts()) << "the kernel did not start";
    const char* wrong = nullptr;
    const bool held_back = never(
        [&] {
          wrong = event.done()     ? "an event behind the run was reached"
                  : stream.done()  ? "stream_query returned WEIR_OK for the stream of the run"
                  : waiting.done() ? "another stream that waits for an event behind the run was done"
                  : again.done()   ? "a second run of the graph, on another stream, ended"
                                   : nullptr;
          return wrong != nullptr;
        },
        std::chrono::milliseconds(15));
    EXPECT_TRUE(held_back) << "a graph of 150 fills and a kernel, which is its " << (first ? "first" : "last")
                           << " node, was launched. While the kernel ran, " << (wrong ? wrong : "")
                           << ". driver.h: a run ends before the stream's later work, and runs of one graph "
                              "never overlap. Look first at when the run of a graph counts as complete";
    held.release();
    for (const Stream* each : {&stream, &waiting, &again}) each->synchronize();
    EXPECT_TRUE(HasFailure() || held.was_released())
        << "the kernel's time was up before the test released it";
    EXPECT_TRUE(same_bytes(memory.read(), Bytes(64 * count, 1)));
    if (HasFailure()) return;
  }
}

/// Makes calls that must return while a kernel runs.
void expect_no_waits(bool in_graph) {
  HeldKernel held;
  const Kernel iota("iota");
  const Memory memory(64), used(64);
  const Stream other;
  Stream stream;
  Event recorded, destroyed;
  const Event last;
  Graph graph;
  GraphNodes nodes, changed;
  if (has(WEIR_CAP_GRAPHS)) {
    nodes.fill<std::uint8_t>(used, 0, 64, 1);
    if (in_graph) nodes.kernel(held.kernel(), held.arguments());
    changed.fill<std::uint8_t>(used, 0, 64, 2);
    graph = nodes.make();
  }
  if (in_graph)
    launch(graph, stream);
  else
    held.launch(stream);
  stream.flush();
  ASSERT_TRUE(held.starts()) << "the kernel did not start";
  Memory external(weir_allocation{});
  bool waited = false;
  const auto try_call = [&](const char* name, const std::function<void()>& make) {
    if (waited) return;
    const auto began = std::chrono::steady_clock::now();
    make();
    waited = std::chrono::steady_clock::now() - began > patience() / 2.0;
    EXPECT_FALSE(waited)
        << name << " did not return within half of the " << patience().count()
        << " seconds for which a kernel runs" << (in_graph ? " in a graph" : "")
        << ". driver.h: it waits for no submitted work, or only submits. Look first at which "
           "answer of the device, or which lock, it waits for";
  };
  try_call("memory_get_info", [&] { (void)memory.info(); });
  if (has(WEIR_CAP_EXTERNAL_MEMORY)) try_call("memory_wrap", [&] { external = wrapped(memory, 0, 64); });
  try_call("kernel_get_info", [&] { (void)info_of(iota); });
  try_call("kernel_get_info of the kernel that runs", [&] { (void)info_of(held.kernel()); });
  if (has(WEIR_CAP_COOPERATIVE_LAUNCH))
    try_call("kernel_max_cooperative_blocks", [&] {
      std::uint32_t blocks = 0;
      call(table().kernel_max_cooperative_blocks, iota.handle(), 1u, 0u, &blocks);
    });
  try_call("device_get_info", [&] {
    weir_device_info described{};
    described.struct_size = sizeof described;
    call(table().device_get_info, judged().device, &described);
  });
  try_call("stream_query", [&] { EXPECT_FALSE(stream.done()) << "stream_query, while a kernel runs"; });
  for (const Event* event : {&recorded, &destroyed}) try_call("event_record", [&] { event->record(stream); });
  try_call("event_query", [&] { EXPECT_FALSE(recorded.done()) << "event_query, behind a kernel that runs"; });
  try_call("stream_wait_event", [&] { other.wait(recorded); });
  try_call("fill", [&] { fill<std::uint8_t>(stream, used, 0, 64, 3); });
  if (has(WEIR_CAP_HOST_CALLBACK))
    try_call("stream_host_callback", [&] {
      call(table().stream_host_callback, weir_stream(stream), weir_host_callback([](void*) {}),
           static_cast<void*>(nullptr));
    });
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION))
    try_call("memory_free_async", [&] { free_on(stream, allocate(stream, 64)); });
  if (has(WEIR_CAP_GRAPHS)) {
    try_call("graph_update", [&] {  // which the vendor may be unable to make
      (void)result_of(table().graph_update, weir_graph(graph), 0u,
                      static_cast<const weir_graph_node*>(&changed[0]));
    });
    try_call("graph_launch", [&] { launch(graph, stream); });
    try_call("graph_destroy", [&] { graph.destroy(); });
  }
  try_call("event_destroy", [&] { destroyed.destroy(); });
  try_call("event_record", [&] { last.record(stream); });
  try_call("stream_flush", [&] { stream.flush(); });
  try_call("stream_flush", [&] { other.flush(); });
  try_call("stream_destroy", [&] { stream.destroy(); });
  held.release();
  last.synchronize();
  other.synchronize();
  EXPECT_TRUE(waited || held.was_released()) << "the kernel's time was up before the test released it";
}

WEIR_REQUIREMENT(4, 19, RunningKernels, LeaveOtherCallsFree,
                 "While a kernel runs, in a stream or in a graph, questions about memory, kernels and "
                 "devices return, and so do queries, submissions, updates, and destructions of events, "
                 "graphs and streams.") {
  expect_no_waits(false);
  if (!HasFailure() && has(WEIR_CAP_GRAPHS)) expect_no_waits(true);
}

WEIR_REQUIREMENT(3, 92, Kernels, OfManyStreamsPassOneThatRuns,
                 "While a kernel runs on one stream, kernels of 100 other streams, or of half as many as the "
                 "device recommends, begin and end.") {
  const std::size_t count = independent_streams(100);
  constexpr std::int64_t values = 64;
  const Kernel iota("iota");
  const Memory memory(count * values * 8);
  memory.write(Bytes(count * values * 8, 0));
  const Stream first;
  std::vector<Stream> streams(count);
  HeldKernel held;
  held.launch(first);
  if (!held.starts()) throw Skipped("the kernel did not start");
  for (std::size_t i = 0; i < count; ++i) {
    Arguments arguments;
    arguments.add(memory, i * values * 8).add(values).add(static_cast<std::int64_t>(i));
    iota.launch(streams[i], arguments);
  }
  for (std::size_t i = 0; i < count; ++i) {
    streams[i].flush();
    ASSERT_TRUE(eventually([&] { return streams[i].done(); }))
        << "the kernel of stream " << i + 1
        << " had not ended while that of stream 0 ran, which is unrelated. "
        << "driver.h: a stream is unordered relative to all other streams. Look first at what streams share";
  }
  held.release();
  first.synchronize();
  EXPECT_TRUE(held.was_released()) << "the kernels of other streams ended after the one that ran";
}

}  // namespace
}  // namespace weir::conformance
