// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <weir/graph.hpp>

#include "on_threads.hpp"
#include "runtime/devices/device_state.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

// proves R1
TEST(Stream, DoesNotWaitForAnotherNorForTheDefaultStream) {
  const Device device = open_real();
  const Kernels kernels(device);
  Flag flag;
  const auto x = device.array<std::int32_t>(16);
  device.synchronize();
  kernels.close_gate(device.default_stream(), flag);
  const Stream stream = device.create_stream();
  x.fill(stream, 7);
  EXPECT_EQ(x.to_host(stream)[3], 7);  // returns although the default stream is blocked
  EXPECT_FALSE(device.default_stream().query());
}

// proves R1
TEST(Stream, TheDefaultStreamDoesNotWaitForOthers) {
  const Device device = open_real();
  const Kernels kernels(device);
  Flag flag;
  const auto x = device.array<std::int32_t>(16);
  const Stream stream = device.create_stream();
  kernels.close_gate(stream, flag);
  x.fill(device.default_stream(), 7);
  EXPECT_EQ(x.to_host(device.default_stream())[3], 7);
  EXPECT_FALSE(stream.query());
}

// proves R2
TEST(Stream, AnExplicitStreamCarriesEveryPartOfTheWork) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream other = device.create_stream(), stream = device.create_stream();
  const CurrentStream scope(other);
  (void)device.default_stream();
  const weir_stream expected = stream.state()->stream;
  Watch::get().start_recording();
  {
    const auto x = device.array<std::int32_t>(stream, 100);
    x.fill_zero(stream);
    x.copy_from(stream, std::vector<std::int32_t>(100, 1));
    kernels.add(stream, x, 2);
    EXPECT_EQ(x.to_host(stream)[99], 3);
  }
  const auto reused = device.array<std::int32_t>(stream, 100);
  const std::set<std::string> on_streams = {"memory_allocate_async", "memory_free_async", "fill",
                                            "copy_to_device",        "copy_to_host",      "kernel_launch",
                                            "stream_wait_event",     "stream_synchronize"};
  std::set<std::string> seen;
  for (const Call& call : Watch::get().recorded()) {
    if (!on_streams.contains(call.slot)) continue;
    seen.insert(call.slot);
    EXPECT_EQ(call.first, static_cast<const void*>(expected)) << call.slot;
  }
  EXPECT_TRUE(seen.contains("kernel_launch") && seen.contains("copy_to_device") && seen.contains("fill"));
}

// proves R3
TEST(CurrentStream, ScopesNestAndRestoreTheOneBefore) {
  const Device device = open_real();
  const Stream a = device.create_stream(), b = device.create_stream();
  EXPECT_EQ(current_stream(device), device.default_stream());
  {
    const CurrentStream outer(a);
    EXPECT_EQ(current_stream(device), StreamRef(a));
    {
      const CurrentStream inner(b);
      EXPECT_EQ(current_stream(device), StreamRef(b));
    }
    EXPECT_EQ(current_stream(device), StreamRef(a));
  }
  EXPECT_EQ(current_stream(device), device.default_stream());
}

// proves R3
TEST(CurrentStream, IsRestoredWhenALaunchThrows) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  Watch::get().fail("kernel_launch", 1, WEIR_ERROR_LAUNCH);
  error_of(ErrorCode::launch, [&] {
    const CurrentStream scope(stream);
    kernels.nothing.launch(current_stream(device), {1, 1}, {});
  });
  EXPECT_EQ(current_stream(device), device.default_stream());
}

// proves R3
TEST(CurrentStream, BelongsToOneThread) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const CurrentStream scope(stream);
  on_threads(1, [&](int) { EXPECT_EQ(current_stream(device), device.default_stream()); });
}

TEST(CurrentStream, OfOneDeviceDoesNotAffectAnother) {
  const Device device = open_real(), other = Watch::open();
  const Stream stream = device.create_stream();
  const CurrentStream scope(stream);
  EXPECT_EQ(current_stream(other), other.default_stream());
}

// proves R4
TEST(Stream, SynchronizingTheDefaultStreamReallyWaits) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Flag flag;
  kernels.close_gate(device.default_stream(), flag);
  EXPECT_FALSE(device.default_stream().query());
  std::jthread opener([&] { flag.open(); });
  device.default_stream().synchronize();
  opener.join();
  EXPECT_TRUE(device.default_stream().query());
  EXPECT_GE(Watch::get().count("stream_synchronize"), 1u);
}

// A thread must not wait for another thread's wait inside the driver.
// proves R5
TEST(Stream, AThreadThatWaitsInTheDriverDelaysNoOther) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream waiting = device.create_stream(), working = device.create_stream();
  kernels.nothing.launch(waiting, {1, 1}, {});
  std::promise<void> inside, leave;
  std::shared_future<void> may_leave = leave.get_future().share();
  std::atomic<bool> first{true};
  Watch::get().before("stream_synchronize", [&] {
    if (!first.exchange(false)) return;
    inside.set_value();
    may_leave.wait();
  });
  std::future<void> waiter = std::async(std::launch::async, [&] { waiting.synchronize(); });
  inside.get_future().wait();
  std::future<void> work = std::async(std::launch::async, [&] {
    auto x = device.array<std::int32_t>(working, 1000);
    x.fill(working, 1);
    kernels.add(working, x, 1);
    kernels.nothing.launch(waiting, {1, 1}, {});  // also on the stream that the other thread waits for
    const Stream another = device.create_stream();
    const Event event = device.create_event();
    event.record(working);
    another.wait(event);
    TaskList region(device);
    region.add(kernels.nothing, {1, 1}, {}, {0, 0});
    region.add(kernels.nothing, {1, 1}, {}, {0, 1});
    region.launch(working);
    working.synchronize();
  });
  const bool finished = work.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  leave.set_value();
  waiter.wait();
  work.wait();
  Watch::get().before("stream_synchronize", nullptr);
  waiter.get();
  work.get();
  EXPECT_TRUE(finished);
}

// The next user of a leased stream does not get failures of regions for which the previous user did not wait.
TEST(Stream, AFailureOfALeasedStreamIsReportedToItsLessee) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  {
    const Stream stream = device.create_stream();
    TaskList region(device);
    region.add(kernels.nothing, {1, 1}, {}, {0, 0});
    region.add(kernels.nothing, {1, 1}, {}, {0, 1});
    region.launch(stream);
    const Event done = device.create_event();
    done.record(stream);
    done.synchronize();
  }
  // Repeat until the pool returns the same stream: the driver may report it idle only some time after the
  // event.
  std::vector<Stream> streams;
  for (std::uint32_t created = 0; created != device.stream_statistics().streams_created;) {
    created = device.stream_statistics().streams_created;
    streams.push_back(device.create_stream());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Watch::get().fail("stream_query", 1, WEIR_ERROR_LAUNCH);
  streams.back().synchronize();  // does not query leased streams
}

// proves R6
TEST(Stream, DestroyingOneWithWorkInFlightNeitherWaitsNorLosesWork) {
  const Device device = open_real();
  const Kernels kernels(device);
  Flag flag;
  const auto x = device.array<std::int32_t>(64);
  x.fill(0);
  device.synchronize();
  {
    const Stream stream = device.create_stream();
    kernels.close_gate(stream, flag);
    kernels.add(stream, x, 5);
  }  // gets here although the gate is closed
  flag.open();
  device.synchronize();
  EXPECT_EQ(x.to_host()[63], 5);
}

TEST(Stream, ThatCannotBeMadeLeavesNothing) {
  const Device device = Watch::open();
  const auto count = [](const char* slot) { return Watch::get().count(slot); };
  const std::uint64_t made = count("stream_create"), destroyed = count("stream_destroy");
  Watch::get().fail("event_create", 1, WEIR_ERROR_OUT_OF_MEMORY, 100);
  error_of(ErrorCode::out_of_memory, [&] { (void)device.create_stream(); });
  EXPECT_GT(count("stream_create"), made);
  EXPECT_EQ(count("stream_destroy") - destroyed, count("stream_create") - made);
}

// proves R6
TEST(Stream, ManyDestroyedWithWorkInFlightAreAllDrained) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Flag flag;
  const auto x = device.array<std::int32_t>(8);
  x.fill(0);
  device.synchronize();
  const Stream first = device.create_stream();
  const std::size_t many = detail::StreamManager::kept_streams * 2;
  std::vector<Stream> streams(many);
  for (Stream& stream : streams) stream = device.create_stream();  // may wait for held work
  kernels.close_gate(first, flag);
  for (std::size_t i = 0; i < many; ++i) {
    streams[i].wait(i ? StreamRef(streams[i - 1]) : StreamRef(first));
    kernels.add(streams[i], x, 1);
  }
  streams.clear();
  EXPECT_LE(device.stream_statistics().streams_created, 3 + detail::StreamManager::kept_streams);
  flag.open();
  device.synchronize();
  EXPECT_EQ(x.to_host()[7], static_cast<std::int32_t>(many));
}

// proves R6
TEST(Stream, TheOrderOfDestructionDoesNotMatter) {
  // Each object is destroyed first once and last once, with work in flight.
  for (int first_to_go = 0; first_to_go < 4; ++first_to_go) {
    const Device device = open_real();
    Flag flag;
    auto kernels = std::make_unique<Kernels>(device);
    auto stream = std::make_unique<Stream>(device.create_stream());
    auto event = std::make_unique<Event>(device.create_event());
    auto array = std::make_unique<Array<std::int32_t>>(device.array<std::int32_t>(*stream, 100));
    kernels->close_gate(*stream, flag);
    kernels->add(*stream, *array, 1);
    event->record(*stream);
    for (int i = 0; i < 4; ++i) switch ((first_to_go + i) % 4) {
        case 0:
          kernels.reset();
          break;
        case 1:
          stream.reset();
          break;
        case 2:
          event.reset();
          break;
        case 3:
          array.reset();
          break;
      }
    flag.open();
    device.synchronize();
  }
}

// proves R7
TEST(Stream, AForeignHandleIsUsedAndNotOwned) {
  const Device device = Watch::open(0, true);
  const Kernels kernels(device);
  const Stream foreign_owner = device.create_stream();
  void* const native = foreign_owner.native_handle();
  const auto x = device.array<std::int32_t>(10);
  {
    const Stream wrapped = device.wrap_stream(native);
    EXPECT_EQ(wrapped.native_handle(), native);
    x.fill(wrapped, 3);
    kernels.add(wrapped, x, 4);
    EXPECT_EQ(x.to_host(wrapped)[9], 7);
  }
  kernels.add(foreign_owner, x, 1);  // the handle still works
  EXPECT_EQ(x.to_host(foreign_owner)[9], 8);
}

// Without an event after its work, destroying a stream waits for it, even when the first wait fails.
// proves R6, R34
TEST(Stream, WhoseEventFailedIsWaitedForBeforeItIsDestroyed) {
  const Device device = Watch::open(0, true);
  const Kernels kernels(device);
  const Stream foreign_owner = device.create_stream();
  Flag flag;
  std::atomic<int> waits{0};
  {
    const Stream wrapped = device.wrap_stream(foreign_owner.native_handle());
    kernels.close_gate(wrapped, flag);
    Watch::get().fail("event_record", 1, WEIR_ERROR_UNKNOWN);
    Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_UNKNOWN);
    Watch::get().before("stream_synchronize", [&] {
      if (++waits == 2) flag.open();
    });
  }
  Watch::get().before("stream_synchronize", nullptr);
  EXPECT_EQ(waits, 2);
  EXPECT_TRUE(foreign_owner.query());
}

// proves R7, R35
TEST(Stream, WrappingNothingIsRefused) {
  const Device device = open_real();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)device.wrap_stream(nullptr); }), HasSubstr("is null"));
  // Where streams can be wrapped, a vendor's handle cannot be distinguished from an invalid address.
  if (device.info().has(Capability::native_stream)) return;
  int unrelated = 0;
  error_of(ErrorCode::unsupported, [&] { (void)device.wrap_stream(&unrelated); });
}

// proves R8
TEST(Stream, OneKernelOnTwoStreamsSharesNoArguments) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  auto x = device.array<std::int32_t>(a, 1000), y = device.array<std::int32_t>(b, 1000);
  x.fill(a, 0);
  y.fill(b, 0);
  Flag flag;
  kernels.close_gate(a, flag);
  for (int i = 0; i < 50; ++i) {
    kernels.add(a, x, 1);
    kernels.add(b, y, 2);
  }
  EXPECT_EQ(y.to_host(b), std::vector<std::int32_t>(1000, 100));
  flag.open();
  EXPECT_EQ(x.to_host(a), std::vector<std::int32_t>(1000, 50));
}

TEST(Stream, WaitsForEarlierWorkOfAnotherStream) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const auto log = device.array<std::uint32_t>(16);
  log.fill_zero(a);
  Flag flag;
  kernels.close_gate(a, flag);
  kernels.log(a, log, 1);
  b.wait(a);
  kernels.log(b, log, 2);
  flag.open();
  EXPECT_THAT(log.to_host(b), ::testing::ElementsAre(2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Stream, CallsTheHostInOrder) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto order =
      std::make_shared<std::vector<int>>();  // the second call may throw before the first has run
  stream.call_host([order] { order->push_back(1); });
  stream.call_host([order] { order->push_back(2); });
  stream.synchronize();
  EXPECT_THAT(*order, ::testing::ElementsAre(1, 2));
}

// It would wait for itself.
TEST(Stream, AHostCallbackCannotWaitForItsOwnStream) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto words = std::make_shared<std::string>();
  stream.call_host(
      [words, &stream] { *words = error_of(ErrorCode::invalid, [&] { stream.synchronize(); }); });
  stream.synchronize();
  EXPECT_THAT(*words, HasSubstr("a host callback waits for its own stream"));
}

// proves R35
TEST(Stream, UseAfterDestructionIsAnError) {
  const Device device = open_real();
  const Kernels kernels(device);
  Stream owner = device.create_stream();
  const StreamRef view = owner;
  { const Stream gone = std::move(owner); }
  EXPECT_FALSE(view.alive());
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { view.synchronize(); }), HasSubstr("stream does not exist"));
  error_of(ErrorCode::invalid, [&] { kernels.nothing.launch(view, {1, 1}, {}); });
  error_of(ErrorCode::invalid, [&] { CurrentStream scope(view); });
  const Stream reused = device.create_stream();  // may get the same address
  error_of(ErrorCode::invalid, [&] { (void)view.query(); });
}

// proves R35
TEST(Stream, MovedFromAndDefaultMadeStreamsAreNotAlive) {
  const Device device = open_real();
  Stream a = device.create_stream(), none;
  const Stream b = std::move(a);
  error_of(ErrorCode::invalid, [&] { a.synchronize(); });
  error_of(ErrorCode::invalid, [&] { none.synchronize(); });
  b.synchronize();
}

// proves R35
TEST(Stream, AMoveAssignmentDestroysTheOneThatWasHeld) {
  const Device device = open_real();
  Stream a = device.create_stream(), b = device.create_stream();
  const StreamRef held = a, moved = b;
  a = std::move(b);
  EXPECT_FALSE(b.alive());
  EXPECT_FALSE(held.alive());
  EXPECT_TRUE(a == moved);
  a.synchronize();
  Event e = device.create_event(), f = device.create_event();
  const EventRef held_event = e;
  e = std::move(f);
  EXPECT_FALSE(f.alive());
  EXPECT_FALSE(held_event.alive());
  EXPECT_TRUE(e.alive());
  auto x = device.pinned_array<float>(10), y = device.pinned_array<float>(20);
  x = std::move(y);
  EXPECT_EQ(x.size(), 20u);
  EXPECT_EQ(y.size(), 0u);
  EXPECT_EQ(y.data(), nullptr);
}

// proves R3
TEST(CurrentStreamScope, MayEndInAnyOrder) {
  const Device device = open_real();
  const Stream a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  auto outer = std::make_unique<CurrentStream>(a);
  auto middle = std::make_unique<CurrentStream>(b);
  auto inner = std::make_unique<CurrentStream>(c);
  middle.reset();
  EXPECT_EQ(current_stream(device), c);
  outer.reset();
  EXPECT_EQ(current_stream(device), c);
  inner.reset();
  EXPECT_EQ(current_stream(device), device.default_stream());
}

/// Calls of the driver that submit to that stream.
std::uint64_t submissions_to(const StreamRef& stream) {
  static const std::set<std::string> slots = {
      "memory_allocate_async", "memory_free_async",    "fill",          "copy_to_device",
      "copy_to_host",          "copy_on_device",       "copy_peer",     "event_record",
      "stream_wait_event",     "stream_host_callback", "kernel_launch", "graph_launch"};
  std::uint64_t count = 0;
  for (const Call& call : Watch::get().recorded()) {
    const void* on = call.slot == "graph_launch" || call.slot == "event_record" ? call.second : call.first;
    count += on == stream.state()->stream && slots.contains(call.slot);
  }
  return count;
}

// By the counts, streams are known to be idle, and memory is known to be free.
TEST(Stream, CountsEachSubmission) {
  const Device device = Watch::open(), sibling = Watch::sibling(device);
  const Kernels kernels(device);
  const Stream stream = device.create_stream(), other = device.create_stream(),
               peer = sibling.create_stream();
  auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100);
  const auto z = sibling.array<std::int32_t>(peer, 100);
  std::vector<std::int32_t> host(100, 1);
  const Event event = device.create_event();
  TaskList tasks(device);
  for (int block = 0; block < 3; ++block) tasks.add(kernels.nothing, {1, 1}, {}, {0, block});
  GraphBuilder builder(device);
  builder.launch(kernels.nothing, {1, 1}, {});
  builder.fill(x, 2);
  const Graph graph = builder.build();
  const std::function<void()> calls[] = {
      [&] { x.fill(stream, 1); },
      [&] { x.copy_from_async(stream, host); },
      [&] { x.copy_to_async(stream, host); },
      [&] { x.copy_from(stream, y); },
      [&] { x.copy_from(stream, z); },
      [&] { x.slice(0, 50).copy_from(stream, z.slice(50, 100)); },
      [&] { z.copy_from(peer, x); },
      [&] { event.record(stream); },
      [&] { stream.wait(event); },
      [&] { stream.wait(other); },
      [&] { other.wait(stream); },
      [&] { stream.call_host([] {}); },
      [&] { kernels.add(stream, x, 1); },
      [&] { tasks.launch(stream); },
      [&] { graph.launch(stream); },
      [&] { graph.launch(stream); },
      [&] { x = device.array<std::int32_t>(stream, 1000); },
      [&] { x.fill(other, 1); },
  };
  for (std::size_t i = 0; i < std::size(calls); ++i) {
    SCOPED_TRACE(i);
    for (const Device& each : {device, sibling}) each.synchronize();
    Watch::get().start_recording();
    std::uint64_t before[3] = {};
    const StreamRef streams[3] = {stream, other, peer};
    for (int s = 0; s < 3; ++s) {
      before[s] = streams[s].state()->submitted.load();
      EXPECT_EQ(streams[s].state()->completed.load(), before[s]) << "the device was synchronized";
    }
    calls[i]();
    for (int s = 0; s < 3; ++s) {
      const std::uint64_t count = streams[s].state()->submitted.load() - before[s];
      EXPECT_EQ(count, submissions_to(streams[s])) << s;
      EXPECT_EQ(streams[s].state()->unflushed.load(), count != 0) << s;
    }
  }
}

TEST(Stream, AnIdleOneIsPreferredToABusyOne) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Flag flag;
  {
    const Stream idle = device.create_stream(), busy = device.create_stream();
    kernels.close_gate(busy, flag);
  }  // the busy one is kept first
  const std::uint64_t made = Watch::get().count("stream_create");
  const Stream stream = device.create_stream();
  EXPECT_EQ(Watch::get().count("stream_create"), made);
  EXPECT_TRUE(stream.query());
  flag.open();
}

TEST(Stream, OfAnotherPriorityIsNotReused) {
  Watch::get().change_info = [](weir_device_info& info) { info.min_priority = 1; };
  const Device device = Watch::open();
  Watch::get().change_info = nullptr;
  { const Stream first = device.create_stream(1); }
  EXPECT_EQ(device.create_stream(0).priority(), 0);
  EXPECT_EQ(Watch::get().count("stream_create"), 2u);
  EXPECT_EQ(device.create_stream(1).priority(), 1);
  EXPECT_EQ(Watch::get().count("stream_create"), 2u);
}

TEST(Stream, ReusedAfterAnotherHasNothingOfItsLastLaunch) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  {
    const Stream stream = device.create_stream();
    kernels.nothing.launch(stream, {1, 1}, {});
    stream.synchronize();
  }
  const Stream stream = device.create_stream();
  ASSERT_EQ(Watch::get().count("stream_create"), 1u);
  EXPECT_EQ(stream.last_launch().why_no_graph, WhyNoGraph::no_launch);
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_UNKNOWN);
  EXPECT_THAT(error_of(ErrorCode::unknown, [&] { stream.synchronize(); }),
              ::testing::Not(HasSubstr("last kernel")));
}

// proves R35
TEST(Stream, HostCallbacksThatCannotBeAreRefused) {
  const Device device = Watch::open(WEIR_CAP_HOST_CALLBACK);
  const Stream stream = device.create_stream();
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { stream.call_host([] {}); }),
              HasSubstr(device.name() + " cannot call the host from a stream"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { stream.call_host(nullptr); }), HasSubstr("is empty"));
}

}  // namespace
}  // namespace weir::test
