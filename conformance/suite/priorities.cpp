// SPDX-License-Identifier: Apache-2.0
// Level 4: stream priorities, native streams, copies between devices.
#include <algorithm>
#include <limits>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "leaks.hpp"
#include "other_device.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 60, Priorities, OfEveryKindWork,
                 "Streams of every priority work, and priorities outside the range are clamped, also where "
                 "priorities have no effect.") {
  const Memory memory(64);
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t priority : {0, info().min_priority, info().max_priority, least, least + 1, most}) {
    const Stream stream(device(), priority);
    fill<std::uint8_t>(stream, memory, 0, 64, 9);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 9))) << "priority " << priority;
  }
}

WEIR_REQUIREMENT(4, 61, Priorities, HaveARange, "With STREAM_PRIORITY there is more than one priority.") {
  needs(WEIR_CAP_STREAM_PRIORITY);
  EXPECT_LT(info().max_priority, info().min_priority);
}

WEIR_REQUIREMENT(4, 62, NativeStreams, AreTheVendors,
                 "The native handle of a stream is given out, is not null, and stays the same.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  const Stream stream;
  void *first = nullptr, *second = nullptr;
  call(table().stream_get_native, weir_stream(stream), &first);
  call(table().stream_get_native, weir_stream(stream), &second);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
}

WEIR_REQUIREMENT(4, 63, NativeStreams, WrappedOnesShareTheirOrder,
                 "A stream that wraps a native handle is in order with that handle's own work.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  const Memory memory(4096);
  const Stream stream;
  void* native = nullptr;
  call(table().stream_get_native, weir_stream(stream), &native);
  weir_stream wrapped = nullptr;
  call(table().stream_wrap, device(), native, &wrapped);
  {
    Delay delay(stream);
    fill<std::uint8_t>(stream, memory, 0, 4096, 1);
    fill<std::uint8_t>(wrapped, memory, 0, 4096, 2);
    fill<std::uint8_t>(stream, memory, 1024, 1024, 3);
    delay.end();
    call(table().stream_synchronize, wrapped);
  }
  Bytes expected(4096, 2);
  std::fill_n(expected.begin() + 1024, 1024, std::uint8_t{3});
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), expected));
  void* again = nullptr;
  call(table().stream_get_native, wrapped, &again);
  EXPECT_EQ(again, native);
  call(table().stream_destroy, wrapped);
}

WEIR_REQUIREMENT(4, 64, NativeStreams, WrappedOnesAreNotOwned,
                 "Destroying a stream that wraps a handle leaves the handle valid.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  const Memory memory(64);
  const Stream stream;
  void* native = nullptr;
  call(table().stream_get_native, weir_stream(stream), &native);
  for (std::uint8_t i = 1; i <= 3; ++i) {
    weir_stream wrapped = nullptr;
    call(table().stream_wrap, device(), native, &wrapped);
    call(table().stream_destroy, wrapped);
    fill<std::uint8_t>(stream, memory, 0, 64, i);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, i)));
  }
}

WEIR_REQUIREMENT(4, 70, PeerCopies, MoveMemoryBetweenDevices,
                 "copy_peer moves memory between two devices, on a stream of either.") {
  needs(WEIR_CAP_PEER_COPY);
  const weir_device other = other_device();
  const Stream stream, other_stream(other);
  for (const std::uint64_t size : {std::uint64_t{100'000}, std::uint64_t{1} << 20, std::uint64_t{4} << 20,
                                   (std::uint64_t{5} << 20) + 3}) {
    const Memory here(size), there(size, WEIR_MEMORY_DEVICE, other), back(size);
    here.write(pattern(size));
    call(table().copy_peer, weir_stream(stream), weir_allocation(there), std::uint64_t{0},
         weir_allocation(here), std::uint64_t{0}, size);
    stream.synchronize();
    call(table().copy_peer, weir_stream(other_stream), weir_allocation(back), std::uint64_t{0},
         weir_allocation(there), std::uint64_t{0}, size);
    other_stream.synchronize();
    EXPECT_TRUE(same_bytes(back.read(), pattern(size)))
        << size
        << " bytes went to another device by copy_peer and back. Look first at how it divides large copies";
  }
}

WEIR_REQUIREMENT(4, 71, PeerCopies, PastTheEndAreInvalid,
                 "copy_peer past the end of either allocation, or between overlapping ranges of one, returns "
                 "WEIR_ERROR_INVALID and changes nothing.") {
  needs(WEIR_CAP_PEER_COPY);
  const Memory a(100), b(200);
  a.write(pattern(100));
  b.write(pattern(200));
  const Stream stream;
  refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(a), std::uint64_t{0},
          weir_allocation(b), std::uint64_t{0}, std::uint64_t{101});
  refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(b), std::uint64_t{0},
          weir_allocation(a), std::uint64_t{50}, std::uint64_t{51});
  refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(b), std::uint64_t{0},
          weir_allocation(a), std::uint64_t{101}, std::uint64_t{0});
  refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(b), std::uint64_t{201},
          weir_allocation(a), std::uint64_t{0}, std::uint64_t{0});
  // Within one device it does what copy_on_device does.
  const std::uint64_t overlapping[][2] = {{0, 99}, {99, 0}, {50, 50}, {0, 1}};
  for (const auto& [to, from] : overlapping)
    refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(b), to,
            weir_allocation(b), from, std::uint64_t{100});
  stream.synchronize();
  EXPECT_TRUE(same_bytes(a.read(), pattern(100)));
  EXPECT_TRUE(same_bytes(b.read(), pattern(200)));
}

WEIR_REQUIREMENT(4, 76, PeerCopies, TakeExternalMemory,
                 "copy_peer takes external memory like any other, as its source and as its destination.") {
  needs(WEIR_CAP_PEER_COPY);
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const weir_device other = other_device();
  const Memory owner(1000), theirs(1000, WEIR_MEMORY_DEVICE, other);
  owner.write(pattern(1000));
  const Memory external = wrapped(owner, 0, 1000);
  const Stream stream;
  call(table().copy_peer, weir_stream(stream), weir_allocation(theirs), std::uint64_t{0},
       weir_allocation(external), std::uint64_t{0}, std::uint64_t{1000});
  fill<std::uint8_t>(stream, external, 0, 1000, 0);
  call(table().copy_peer, weir_stream(stream), weir_allocation(external), std::uint64_t{0},
       weir_allocation(theirs), std::uint64_t{0}, std::uint64_t{500});
  stream.synchronize();
  Bytes expected = pattern(1000);
  std::fill(expected.begin() + 500, expected.end(), std::uint8_t{0});
  EXPECT_TRUE(same_bytes(owner.read(), expected));
}

WEIR_REQUIREMENT(
    4, 72, PeerCopies, EventsOrderDevices,
    "A stream waits for an event of another device, or the wait returns WEIR_ERROR_UNSUPPORTED.") {
  const weir_device other = other_device();
  const Stream here, there(other);
  const Event event(WEIR_EVENT_PLAIN, other);
  const Memory memory(64), theirs(64, WEIR_MEMORY_DEVICE, other);
  fill<std::uint8_t>(there, theirs, 0, 64, 3);
  event.record(there);
  weir_status status = new_status();
  const weir_result result = table().stream_wait_event(here, event, &status);
  EXPECT_TRUE(result == WEIR_OK || result == WEIR_ERROR_UNSUPPORTED) << result_name(result);
  there.synchronize();
  here.synchronize();
}

WEIR_REQUIREMENT(
    4, 73, PeerCopies, AreInTheStreamsOrder,
    "copy_peer returns while earlier work of the stream is held and copies after that work, on a stream of "
    "the source's device and on one of the destination's.") {
  needs(WEIR_CAP_PEER_COPY);
  // Within a device the same holds.
  const weir_device other = device_count() > 1 ? other_device() : device();
  for (const weir_device on : {device(), other}) {
    const Memory here(1000), there(1200, WEIR_MEMORY_DEVICE, other);
    const Stream stream(on), control(other);
    here.write(pattern(1000));
    fill<std::uint8_t>(control, there, 0, 1200, 9);
    control.synchronize();
    Gate gate;
    gate.hold(stream);
    call(table().copy_peer, weir_stream(stream), weir_allocation(there), std::uint64_t{33},
         weir_allocation(here), std::uint64_t{11}, std::uint64_t{800});
    stream.flush();
    const auto read = [&] {
      Bytes bytes(1200);
      call(table().copy_to_host, weir_stream(control), static_cast<void*>(bytes.data()),
           weir_allocation(there), std::uint64_t{0}, std::uint64_t{1200});
      control.synchronize();
      return bytes;
    };
    EXPECT_TRUE(same_bytes(read(), Bytes(1200, 9)))
        << "copy_peer copied before held work of its stream had ended";
    gate.open();
    stream.synchronize();
    Bytes expected(1200, 9);
    std::copy_n(pattern(1000).begin() + 11, 800, expected.begin() + 33);
    EXPECT_TRUE(same_bytes(read(), expected))
        << "800 bytes from offset 11 to offset 33, on a stream of "
        << (on == other ? "the destination's" : "the source's") << " device";
  }
}

WEIR_REQUIREMENT(
    4, 74, PeerCopies, WaitsHoldBackOtherDevices,
    "A stream that waits for an event of another device does not go on before it is reached, with more "
    "than 65,536 submissions in the other stream, or the wait returns WEIR_ERROR_UNSUPPORTED.") {
  const weir_device other = other_device();
  const Memory theirs(64, WEIR_MEMORY_DEVICE, other);
  const Stream here, there(other);
  const Event event(WEIR_EVENT_PLAIN, other);
  for (int i = 0; i < 66'000; ++i) {
    fill<std::uint8_t>(there, theirs, 0, 1, 1);
    if (i % 400 == 0) there.synchronize();
  }
  Gate gate;
  gate.hold(there);
  event.record(there);
  call_if_supported(table().stream_wait_event, weir_stream(here), weir_event(event));
  EXPECT_TRUE(never([&] { return here.done(); }))
      << "a stream waits for an event of a held stream of another device, which has run 66,000 fills before, "
         "and is done. Look first at what stream_wait_event does for events of other devices, and at the "
         "width of the numbers of marks that it sends to them";
  gate.open();
  here.synchronize();
}

WEIR_REQUIREMENT(4, 75, PeerCopies, ObjectsOfAnotherDeviceAreInvalid,
                 "Copies, fills, deallocations and records with objects of different devices return "
                 "WEIR_ERROR_INVALID.") {
  const weir_device other = other_device();
  const Memory here(64);
  Memory there(64, WEIR_MEMORY_DEVICE, other);
  const Stream stream;
  const Event event(WEIR_EVENT_PLAIN, other);
  std::uint8_t host[64] = {};
  const std::uint64_t none = 0, size = 64;
  refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(there), none,
          static_cast<const void*>(host), size);
  refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(host),
          weir_allocation(there), none, size);
  refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(there), none,
          weir_allocation(here), none, size);
  refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(here), none,
          weir_allocation(there), none, size);
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(there), none, size,
          static_cast<const void*>(host), 1u);
  refusal(WEIR_ERROR_INVALID, table().event_record, weir_event(event), weir_stream(stream));
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION))
    refusal(WEIR_ERROR_INVALID, table().memory_free_async, weir_stream(stream), weir_allocation(there));
  if (!has(WEIR_CAP_EXTERNAL_MEMORY) || !has(WEIR_CAP_DEVICE_ADDRESS)) return;
  const Memory external = wrapped(there, 0, 64, other);
  refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(external), none, size,
          static_cast<const void*>(host), 1u);
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION))
    refusal(WEIR_ERROR_INVALID, table().memory_free_async, weir_stream(stream), weir_allocation(external));
}

WEIR_REQUIREMENT(4, 32, PeerCopies, EachDeviceHasItsOwnMemory,
                 "Memory of another device counts as used there, and is wrapped there.") {
  const weir_device other = other_device();
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, other, &free, &total);
  const std::uint64_t size = std::min<std::uint64_t>(free / 4, 64u << 20);
  const Memory memory(size, WEIR_MEMORY_DEVICE, other);
  const Stream stream(other);
  fill<std::uint8_t>(stream, memory, 0, size, 1);  // some systems count memory when it is first written
  stream.synchronize();
  call(table().device_get_memory, other, &free, &total);
  EXPECT_LE(free, total - size) << "of " << total << " bytes of device "
                                << (judged().device + 1) % device_count() << ", " << size
                                << " are allocated and written; device_get_memory reports " << free
                                << " as free. Look first at which device it asks";
  if (!has(WEIR_CAP_EXTERNAL_MEMORY) || !has(WEIR_CAP_DEVICE_ADDRESS)) return;
  const Memory external = wrapped(memory, 0, 4096, other);
  fill<std::uint8_t>(stream, external, 0, 4096, 7);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(read_through(stream, memory, 0, 4096), Bytes(4096, 7)))
      << "a fill of memory of another device that memory_wrap took there was not seen in the memory itself";
}

WEIR_REQUIREMENT(4, 79, PeerCopies, TimesOfAnotherDeviceAreInvalid,
                 "event_elapsed of events of different devices returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const weir_device other = other_device();
  const Stream here, there(other);
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED, other);
  start.record(here);
  end.record(there);
  here.synchronize();
  there.synchronize();
  double out = -1;
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(start), weir_event(end), &out);
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(end), weir_event(start), &out);
  EXPECT_EQ(out, -1) << "a refused call changed out_nanoseconds";
  if (testing::Test::HasFailure())
    ADD_FAILURE()
        << "two reached events of different devices were given. driver.h: a call with objects of different "
           "devices returns WEIR_ERROR_INVALID. Look first at the checks of event_elapsed";
}

WEIR_REQUIREMENT(4, 80, Leaks, OfPeerCopies,
                 "Copying memory between devices 10,000 times leaks nothing, and neither do 10,000 waits for "
                 "an event of another device.") {
  needs(WEIR_CAP_PEER_COPY);
  const weir_device other = other_device();
  const Memory here(64), there(64, WEIR_MEMORY_DEVICE, other);
  const Stream stream;
  expect_flat("copy_peer and stream_synchronize", often, [&] {
    call(table().copy_peer, weir_stream(stream), weir_allocation(here), std::uint64_t{0},
         weir_allocation(there), std::uint64_t{0}, std::uint64_t{64});
    stream.synchronize();
  });
  if (!Gate::possible()) return;
  const Stream theirs(other);
  const Event event(WEIR_EVENT_PLAIN, other);
  constexpr int together = 50;
  expect_flat(
      "stream_wait_event of a held event of another device, 50 times", often / together,
      [&] {
        Gate gate;
        gate.hold(theirs);
        event.record(theirs);
        for (int i = 0; i < together; ++i) stream.wait(event);
        gate.open();
        stream.synchronize();
        theirs.synchronize();
      },
      together);
}

/// A kernel of another device. Throws Skipped if that device runs other code than the device under test.
Kernel kernel_of(weir_device other) {
  try {
    return Kernel("iota", other);
  } catch (const CallFailed& failed) {
    if (failed.result != WEIR_ERROR_CODE_OBJECT) throw;
    throw Skipped("the other device runs other code");
  }
}

WEIR_REQUIREMENT(5, 86, PeerCopies, WorkOfEachKindRunsOnEachDevice,
                 "Kernels, graphs, host callbacks, timed events and stream-ordered memory work on another "
                 "device as on the device under test.") {
  const weir_device other = other_device();
  for (const weir_device on : {device(), other}) {
    weir_device_info described{};
    described.struct_size = sizeof described;
    call(table().device_get_info, on == other ? (judged().device + 1) % device_count() : judged().device,
         &described);
    const auto offers = [&](weir_capability what) { return (described.capabilities & what) != 0; };
    const Kernel iota = on == other ? kernel_of(other) : Kernel("iota");
    const Memory numbers(8 * 64, WEIR_MEMORY_DEVICE, on), copied(8 * 64, WEIR_MEMORY_DEVICE, on);
    const Stream stream(on);
    const bool timed = offers(WEIR_CAP_TIMED_EVENTS);
    const Event start(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN, on),
        end(timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN, on);
    std::vector<std::int64_t> host(64, -1);
    weir_allocation ordered = nullptr;
    const weir_memory_options options = memory_options(64);
    struct Seen {
      const std::int64_t* host;
      std::int64_t last = -2;
    } seen{host.data()};
    start.record(stream);
    iota.launch(stream, arguments(numbers, std::int64_t{64}, std::int64_t{5}));
    GraphNodes nodes;
    const auto copy = nodes.copy_on_device(copied, 0, numbers, 0, 8 * 64);
    nodes.copy_to_host(host.data(), copied, 8 * 64, {copy});
    Graph graph;
    if (offers(WEIR_CAP_GRAPHS)) {
      graph = nodes.make(on);
      launch(graph, stream);
    } else {
      call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()),
           weir_allocation(numbers), std::uint64_t{0}, std::uint64_t{8 * 64});
    }
    if (offers(WEIR_CAP_HOST_CALLBACK))
      call(table().stream_host_callback, weir_stream(stream), weir_host_callback([](void* user) {
             auto& looks = *static_cast<Seen*>(user);
             looks.last = looks.host[63];
           }),
           static_cast<void*>(&seen));
    std::uint8_t byte = 0;
    if (offers(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
      call(table().memory_allocate_async, weir_stream(stream), &options, &ordered);
      fill<std::uint8_t>(stream, ordered, 0, 64, 9);
      call(table().copy_to_host, weir_stream(stream), static_cast<void*>(&byte), ordered, std::uint64_t{63},
           std::uint64_t{1});
      call(table().memory_free_async, weir_stream(stream), ordered);
    }
    end.record(stream);
    stream.synchronize();
    const char* const which =
        on == other ? "on another device than the one under test" : "on the device under test";
    for (std::int64_t i = 0; i < 64; ++i)
      ASSERT_EQ(host[static_cast<std::size_t>(i)], 5 + i)
          << "is element " << i << " of what a kernel wrote and a graph copied to the host " << which
          << ". Look first at the device that the kernel and the graph belong to";
    if (offers(WEIR_CAP_HOST_CALLBACK)) {
      EXPECT_EQ(seen.last, 68) << "is what a host callback behind that copy saw, " << which;
    }
    if (ordered) {
      EXPECT_EQ(int{byte}, 9) << "is what a fill of stream-ordered memory left, " << which;
    }
    double elapsed = -1;
    if (timed) {
      call(table().event_elapsed, weir_event(start), weir_event(end), &elapsed);
      EXPECT_GE(elapsed, 0) << "nanoseconds passed between two timed events around that work, " << which;
    }
  }
}

WEIR_REQUIREMENT(4, 78, PeerCopies, StreamsOfOtherDevicesAreInvalid,
                 "copy_peer on a stream whose device has neither the source nor the destination returns "
                 "WEIR_ERROR_INVALID and changes nothing.") {
  needs(WEIR_CAP_PEER_COPY);
  const weir_device other = other_device();
  const Memory from(64, WEIR_MEMORY_DEVICE, other), to(64, WEIR_MEMORY_DEVICE, other);
  const Stream stream, other_stream(other);
  fill<std::uint8_t>(other_stream, from, 0, 64, 1);
  fill<std::uint8_t>(other_stream, to, 0, 64, 2);
  other_stream.synchronize();
  refusal(WEIR_ERROR_INVALID, table().copy_peer, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
          weir_allocation(from), std::uint64_t{0}, std::uint64_t{64});
  stream.synchronize();
  Bytes host(64);
  call(table().copy_to_host, weir_stream(other_stream), static_cast<void*>(host.data()), weir_allocation(to),
       std::uint64_t{0}, std::uint64_t{64});
  other_stream.synchronize();
  EXPECT_TRUE(same_bytes(host, Bytes(64, 2))) << "a copy that was refused ran";
}

WEIR_REQUIREMENT(
    3, 26, Launches, KernelsOfAnotherDeviceAreInvalid,
    "kernel_launch of a kernel on a stream of another device returns WEIR_ERROR_INVALID, and nothing runs.") {
  const weir_device other = other_device();
  const Kernel here("iota"), there(kernel_of(other));
  const Memory out = Memory::of(std::vector<std::int64_t>(8, -1));
  const Stream stream, other_stream(other);
  Arguments values = arguments(out, std::int64_t{8}, std::int64_t{5});
  values.pad_to(here.ready().argument_bytes);
  const weir_launch launches[] = {here.launch_of(values), there.launch_of(values)};
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launches[1]);
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(other_stream), &launches[0]);
  stream.synchronize();
  other_stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), std::vector<std::int64_t>(8, -1)) << "a launch that was refused ran";
}

WEIR_REQUIREMENT(
    5, 49, PeerCopies, NodesOfAnotherDeviceAreInvalid,
    "A node of each kind with a kernel or memory of another device returns WEIR_ERROR_INVALID, when the "
    "graph is made and when the node is updated.") {
  needs(WEIR_CAP_GRAPHS);
  const weir_device other = other_device();
  const Memory here(64), apart(64), there(64, WEIR_MEMORY_DEVICE, other);
  std::uint8_t host[64] = {};
  const auto expect_refused = [&](const GraphNodes& right, const GraphNodes& wrong, const char* what) {
    const auto given = wrong.pointers();
    weir_graph out = nullptr;
    weir_status status = new_status();
    EXPECT_EQ(result_name(table().graph_create(device(), 1, given.data(), &out, &status)),
              "WEIR_ERROR_INVALID")
        << "graph_create: " << what
        << " of another device. Look first at which objects of a node are checked";
    const Graph graph = right.make();
    status = new_status();
    const weir_result result = table().graph_update(graph, 0, given[0], &status);
    EXPECT_TRUE(result == WEIR_ERROR_INVALID || result == WEIR_ERROR_UNSUPPORTED)
        << "graph_update to " << what << " of another device returned " << result_name(result)
        << "; expected WEIR_ERROR_INVALID";
  };
  const auto pair = [&](const char* what, const auto& add) {
    GraphNodes right, wrong;
    add(right, weir_allocation(here));
    add(wrong, weir_allocation(there));
    expect_refused(right, wrong, what);
  };
  pair("the destination of a fill",
       [&](GraphNodes& nodes, weir_allocation to) { nodes.fill<std::uint8_t>(to, 0, 64, 1); });
  pair("the destination of a copy from the host",
       [&](GraphNodes& nodes, weir_allocation to) { nodes.copy_to_device(to, host, 64); });
  pair("the source of a copy to the host",
       [&](GraphNodes& nodes, weir_allocation from) { nodes.copy_to_host(host, from, 64); });
  pair("the destination of a copy on the device",
       [&](GraphNodes& nodes, weir_allocation to) { nodes.copy_on_device(to, 0, apart, 0, 64); });
  pair("the source of a copy on the device",
       [&](GraphNodes& nodes, weir_allocation from) { nodes.copy_on_device(apart, 0, from, 0, 64); });
  const Kernel kernel("iota"), foreign(kernel_of(other));
  GraphNodes right, wrong;
  right.kernel(kernel, arguments(here, std::int64_t{8}, std::int64_t{1}));
  wrong.kernel(foreign, arguments(here, std::int64_t{8}, std::int64_t{1}));
  expect_refused(right, wrong, "a kernel");
}

WEIR_REQUIREMENT(
    5, 33, PeerCopies, GraphsOfAnotherDeviceAreInvalid,
    "graph_launch on a stream of another device, and a node with memory of another device, return "
    "WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  const weir_device other = other_device();
  const Memory here(64), there(64, WEIR_MEMORY_DEVICE, other);
  const Stream stream(other);
  GraphNodes nodes, foreign;
  nodes.fill<std::uint8_t>(here, 0, 64, 1);
  foreign.fill<std::uint8_t>(there, 0, 64, 1);
  const Graph graph = nodes.make();
  refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(graph), weir_stream(stream));
  const auto given = foreign.pointers();
  weir_graph out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, device(), 1u, given.data(), &out);
}

}  // namespace
}  // namespace weir::conformance
