// SPDX-License-Identifier: Apache-2.0
// Levels 0 to 5: state that a driver keeps from an earlier call must not change a later one. Such state is
// counts of openings, tables, code, descriptions of memory.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "end_of_memory.hpp"
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"
#include "other_device.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(0, 59, Entry, EarlierTablesStayAsTheyAre,
                 "A table that the entry point gave stays as it is when a host of another version asks.") {
  const auto ask = [](std::uint32_t newest) {
    const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), newest};
    const weir_driver_table* out = nullptr;
    weir_status status = new_status();
    const weir_result result = call_entry(entry(), &host, &out, &status);
    if (result == WEIR_ERROR_ABI && newest != WEIR_ABI_CURRENT) return out;  // it supports no older version
    expect_result("weir_driver_entry", result, WEIR_OK, status.message);
    return out;
  };
  const weir_driver_table* const first = ask(WEIR_ABI_CURRENT);
  ASSERT_NE(first, nullptr);
  std::vector<std::uint8_t> before(first->struct_size);
  std::memcpy(before.data(), first, before.size());
  const std::uint32_t version = first->abi_version;
  for (std::uint32_t minor = 0; minor <= WEIR_ABI_MINOR(WEIR_ABI_CURRENT); ++minor) {
    ask(WEIR_ABI_VERSION(1, minor));
    EXPECT_EQ(first->abi_version, version)
        << "a host of up to 1." << WEIR_ABI_MINOR(version) << " holds a table, and one of up to 1." << minor
        << " asked for another. driver.h: a table stays valid until the process ends. Look first at where "
           "the "
           "entry point keeps its tables";
    ASSERT_EQ(first->struct_size, before.size()) << "the size of a table that a host holds changed";
    EXPECT_EQ(std::memcmp(first, before.data(), before.size()), 0) << "a table that a host holds changed";
  }
}

WEIR_REQUIREMENT(0, 60, Devices, OpeningsAreCountedInFull,
                 "A device that was opened 66,000 times stays open until it was closed as often.") {
  constexpr int times = 66'000;  // more than a count of 8 or 16 bits holds
  const weir_device first = device();
  weir_status status = new_status();
  for (int i = 0; i < times; ++i) {
    weir_device opened = nullptr;
    const weir_result result = quick_table().device_open(judged().device, &opened, &status);
    ASSERT_EQ(result_name(result), "WEIR_OK") << "opening " << i + 1 << ": " << status.message;
    ASSERT_EQ(opened, first) << "opening " << i + 1 << " gave another device";
  }
  for (int i = 0; i < times; ++i) {
    const weir_result result = quick_table().device_close(first, &status);
    ASSERT_EQ(result_name(result), "WEIR_OK") << "closing " << i + 1 << " of " << times
                                              << ", after as many openings and one more: " << status.message
                                              << ". driver.h: device_open increments the reference count, "
                                                 "device_close decrements it. Look first at "
                                                 "the type of the count of openings";
  }
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, first, &free, &total);  // the first opening is still valid
}

WEIR_REQUIREMENT(0, 61, Status, ALargerStatusIsFilled,
                 "A failure fills a weir_status with a struct_size larger than today's.") {
  struct {
    weir_status known;
    std::uint8_t newer[64];
  } status;
  std::memset(&status, 0, sizeof status);
  status.known.struct_size = sizeof status;
  weir_device out = nullptr;
  expect_result("device_open past the last device", table().device_open(device_count(), &out, &status.known),
                WEIR_ERROR_INVALID);
  expect_result("its status.code", status.known.code, WEIR_ERROR_INVALID);
  weir_status usual = new_status();
  *usual.message = 0;
  (void)table().device_open(device_count(), &out, &usual);
  EXPECT_STRNE(usual.message, "")
      << "device_open past the last device filled a status of the usual size, and "
         "left its message empty. Look first at that refusal";
  if (!*usual.message) return;
  EXPECT_STRNE(status.known.message, "")
      << "a status of " << sizeof status << " bytes was left empty; one of " << sizeof(weir_status)
      << " bytes was filled. driver.h: a reader accepts a size larger than its own. Look first at where the "
         "driver compares status->struct_size";
  EXPECT_EQ(status.known.struct_size, sizeof status) << "struct_size is the caller's";
}

WEIR_REQUIREMENT(0, 62, Devices, LocationsArePciAddresses,
                 "The location of a device is a PCI address such as 0000:41:00.0, or empty.") {
  const std::string location(info().location, strnlen(info().location, sizeof info().location));
  if (location.empty()) return;
  std::string shape;
  for (const char letter : location)
    shape += std::isxdigit(static_cast<unsigned char>(letter)) ? 'x' : letter;
  EXPECT_TRUE(shape == "xxxx:xx:xx.x" || shape == "xxxxxxxx:xx:xx.x")
      << "device_get_info sets location to '" << location
      << "'; driver.h: a PCI address such as 0000:41:00.0, or \"\". Tools join devices of several drivers by "
         "it";
}

WEIR_REQUIREMENT(1, 38, Copies, OfNothingPastTheEndAreInvalid,
                 "A copy or fill of 0 bytes at an offset past the end returns WEIR_ERROR_INVALID.") {
  const Memory memory(100), other(100);
  const Stream stream;
  std::uint8_t byte = 1;
  constexpr std::uint64_t none = 0;
  for (const std::uint64_t offset : {std::uint64_t{101}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory), offset,
            static_cast<const void*>(&byte), none);
    refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(&byte),
            weir_allocation(memory), offset, none);
    refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory), offset,
            weir_allocation(other), none, none);
    refusal(WEIR_ERROR_INVALID, table().copy_on_device, weir_stream(stream), weir_allocation(memory), none,
            weir_allocation(other), offset, none);
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(memory), offset, none,
            static_cast<const void*>(&byte), 1u);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE()
          << "0 bytes at offset " << offset << " of 100 were submitted. driver.h: a range outside its "
          << "allocation returns WEIR_ERROR_INVALID, also one of 0 bytes. Look first at whether the "
          << "check of ranges comes before the one for a size of 0";
      break;
    }
  }
}

WEIR_REQUIREMENT(1, 54, Fills, PatternsLieAnywhere,
                 "A pattern is read from any address, whatever its size, and no byte past it is read.") {
  const Memory memory(256);
  const Stream stream;
  Bytes room(64);
  for (const std::uint32_t width : {2u, 4u, 8u, 16u})
    for (std::size_t begin = 0; begin < 16; ++begin) {
      const Bytes repeated = pattern(width, static_cast<std::uint32_t>(width + begin));
      std::ranges::copy(repeated, room.begin() + static_cast<std::ptrdiff_t>(begin));
      call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0}, std::uint64_t{256},
           static_cast<const void*>(room.data() + begin), width);
      stream.synchronize();
      Bytes expected;
      while (expected.size() < 256) expected.insert(expected.end(), repeated.begin(), repeated.end());
      ASSERT_TRUE(same_bytes(memory.read(), expected))
          << "a fill with a pattern of " << width << " bytes, " << begin
          << " bytes after a multiple of 16. Look first at how fill loads the pattern";
    }
  const EndOfMemory end(16);
  for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    fill<std::uint8_t>(stream, memory, 0, 256, 0);
    const std::uint8_t* const repeated = end.last(pattern(width, width));
    call(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0}, std::uint64_t{width},
         static_cast<const void*>(repeated), width);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(memory.read(0, width), pattern(width, width)))
        << "a fill with a pattern of " << width << " bytes at the end of a page";
  }
}

/// Submits one kind of work 499 times to a stream that is held.
template <class Submit>
void submit_hundreds(const char* what, const Submit& submit) {
  if (testing::Test::HasFailure()) return;
  const Stream stream;
  {
    Gate gate;
    gate.hold(stream);
    ASSERT_TRUE(gate.reached()) << "the stream did not begin its first work";
    for (std::uint32_t i = 0; i < 498; ++i) submit(stream, i);
    EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held the stream back";
  }
  stream.synchronize();
  if (testing::Test::HasFailure())
    ADD_FAILURE()
        << "498 times " << what << " were submitted to a held stream. driver.h: with 500 submissions "
        << "outstanding, a driver may block. Look first at what that call waits for when many are queued";
}

WEIR_REQUIREMENT(
    2, 21, Streams, TakeHundredsOfSubmissionsOfEachKind,
    "499 copies of each kind, launches, host callbacks, deallocations, records of events or waits "
    "are submitted to a held stream without blocking: room is needed for 500.") {
  const Memory memory(4096), other(4096);
  const HostMemory host(4096);
  submit_hundreds("copy_to_device", [&](const Stream& stream, std::uint32_t i) {
    call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{4 * i},
         static_cast<const void*>(host.data()), std::uint64_t{4});
  });
  submit_hundreds("copy_to_host", [&](const Stream& stream, std::uint32_t i) {
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(memory),
         std::uint64_t{4 * i}, std::uint64_t{4});
  });
  submit_hundreds("copy_on_device", [&](const Stream& stream, std::uint32_t i) {
    call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{4 * i},
         weir_allocation(other), std::uint64_t{4 * i}, std::uint64_t{4});
  });
  for (const std::uint32_t flags : {std::uint32_t{WEIR_EVENT_PLAIN}, std::uint32_t{WEIR_EVENT_TIMED}}) {
    if (flags == WEIR_EVENT_TIMED && !has(WEIR_CAP_TIMED_EVENTS)) continue;
    const Event event(flags);
    submit_hundreds("event_record", [&](const Stream& stream, std::uint32_t) { event.record(stream); });
  }
  submit_hundreds("stream_host_callback", [&](const Stream& stream, std::uint32_t) {
    call(table().stream_host_callback, weir_stream(stream), weir_host_callback([](void*) {}),
         static_cast<void*>(nullptr));
  });
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
    const weir_memory_options options = memory_options(64);
    std::vector<weir_allocation> allocations(498);
    for (weir_allocation& one : allocations) call(table().memory_allocate, device(), &options, &one);
    submit_hundreds("memory_free_async", [&](const Stream& stream, std::uint32_t i) {
      call(table().memory_free_async, weir_stream(stream), allocations[i]);
    });
  }
  if (has(WEIR_CAP_GRAPHS)) {
    GraphNodes nodes;
    nodes.fill<std::uint8_t>(memory, 0, 64, 1);
    const Graph graph = nodes.make();
    submit_hundreds("graph_launch", [&](const Stream& stream, std::uint32_t) { launch(graph, stream); });
  }
  if (has(WEIR_CAP_PEER_COPY) && device_count() > 1) {
    const Memory theirs(4096, WEIR_MEMORY_DEVICE, other_device());
    submit_hundreds("copy_peer", [&](const Stream& stream, std::uint32_t i) {
      call(table().copy_peer, weir_stream(stream), weir_allocation(memory), std::uint64_t{4 * i},
           weir_allocation(theirs), std::uint64_t{4 * i}, std::uint64_t{4});
    });
  }
  if (const std::optional<Kernel> iota = kernel_if_any("iota"))
    submit_hundreds("kernel_launch", [&](const Stream& stream, std::uint32_t) {
      iota->launch(stream, arguments(memory, std::int64_t{4}, std::int64_t{7}));
    });
  if (!has(WEIR_CAP_CONCURRENT_STREAMS)) return;
  const Stream first;
  const Event event;
  submit_hundreds("stream_wait_event", [&](const Stream& stream, std::uint32_t) {
    event.record(first);
    stream.wait(event);
  });
}

WEIR_REQUIREMENT(2, 91, TimedEvents, OutliveTheirStreams,
                 "The time between timed events can be read after their stream was destroyed.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  {
    const Stream stream;
    start.record(stream);
    end.record(stream);
    stream.synchronize();
  }
  double out = -1;
  weir_status status = new_status();
  const weir_result result = table().event_elapsed(start, end, &out, &status);
  EXPECT_EQ(result_name(result), "WEIR_OK")
      << "two timed events were recorded and reached, and their stream was destroyed: " << status.message
      << ". Look first at whether event_elapsed asks the stream";
  EXPECT_GE(out, 0);
}

WEIR_REQUIREMENT(
    2, 92, TimedEvents, InvalidOnesAreRefusedAtOnce,
    "event_elapsed returns WEIR_ERROR_INVALID if one event was never recorded or is not timed, also "
    "while the other is not reached.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event pending(WEIR_EVENT_TIMED), never_recorded(WEIR_EVENT_TIMED), plain;
  Gate gate;
  gate.hold(stream);
  pending.record(stream);
  plain.record(stream);
  double out = -1;
  for (const Event* wrong : {&never_recorded, &plain}) {
    refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(*wrong), weir_event(pending), &out);
    refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(pending), weir_event(*wrong), &out);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE()
          << "one event is pending, and the other "
          << (wrong == &plain ? "is not timed" : "was never recorded")
          << ". driver.h: WEIR_ERROR_INVALID, also while the other event is not reached. Look first at "
          << "the order of the checks in event_elapsed";
      break;
    }
  }
  EXPECT_EQ(out, -1) << "a refused call changed out_nanoseconds";
  gate.open();
  stream.synchronize();
}

WEIR_REQUIREMENT(2, 93, TimedEvents, NeverRecordedAreReached,
                 "A timed event that was never recorded is reached: query and synchronize return WEIR_OK.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Event event(WEIR_EVENT_TIMED);
  EXPECT_TRUE(event.done())
      << "event_query of a timed event that was never recorded. driver.h: WEIR_OK if there is "
         "no mark. Look first at the initial state of timed events";
  event.synchronize();
}

/// A copy of the code object, longer by bytes that loaders of its format skip; nothing for other formats.
std::optional<Bytes> padded(const ReadyKernel& ready, std::size_t size) {
  Bytes bytes = ready.bytes;
  const bool elf = bytes.size() > 4 && bytes[0] == 0x7f && bytes[1] == 'E';
  if (bytes.size() != size && !elf) return {};
  bytes.resize(size, 0);
  return bytes;
}

WEIR_REQUIREMENT(
    3, 28, Modules, CodeIsWhatItsBytesAre,
    "A module has the kernels of the bytes that it was loaded from, also if other code of that name, "
    "size or address was loaded before.") {
  const ReadyKernel &iota = ready_kernel("iota"), &append = ready_kernel("append");
  const std::size_t size = std::max(iota.bytes.size(), append.bytes.size());
  const auto first = padded(iota, size), second = padded(append, size);
  Bytes buffer;
  const auto expect_kernel_of = [&](const ReadyKernel& ready, const Bytes& bytes, const char* name,
                                    bool same_buffer, const char* what) {
    Bytes own;
    Bytes& place = same_buffer ? buffer : own;
    place.resize(std::max(place.size(), bytes.size()));
    std::ranges::copy(bytes, place.begin());
    weir_code_object object = ready.code_object();
    object.data = place.data();
    object.size = bytes.size();
    object.name = name;
    Module module;
    call(table().module_load, device(), static_cast<const weir_code_object*>(&object), module.out());
    const auto parameters = parameters_of(kernel_text(&ready == &iota ? "iota" : "append"));
    const weir_kernel_layout layout{sizeof layout, ready.argument_bytes,
                                    static_cast<std::uint32_t>(parameters.size()), parameters.data()};
    weir_kernel kernel = nullptr;
    weir_status status = new_status();
    const weir_result result =
        table().module_get_kernel(module, ready.symbol.c_str(), &layout, &kernel, &status);
    EXPECT_EQ(result_name(result), "WEIR_OK")
        << "module_get_kernel of '" << ready.symbol << "' in its code object, loaded from " << what << ": "
        << status.message << ". Look first at the key of what module_load keeps of earlier objects";
  };
  buffer.reserve(size);
  expect_kernel_of(iota, first.value_or(iota.bytes), "one", true, "a new buffer");
  expect_kernel_of(append, second.value_or(append.bytes), "two", true,
                   "the buffer that held other code before");
  expect_kernel_of(iota, first.value_or(iota.bytes), "code", false, "a buffer of its own");
  expect_kernel_of(append, second.value_or(append.bytes), "code", false,
                   "another buffer, under the name of other code");
}

WEIR_REQUIREMENT(4, 69, ExternalMemory, IsDescribedAnewEachTime,
                 "Memory that is wrapped again, with another size or kind, is what the last call says.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(8192);
  const Stream stream;
  for (const std::uint64_t size : {100u, 8192u, 1u, 4096u}) {
    const Memory external = wrapped(owner, 0, size);
    EXPECT_EQ(external.info().size, size) << "memory_get_info of memory at an address that was wrapped with "
                                             "another size before. Look first at what "
                                             "memory_wrap keeps by address";
    fill<std::uint8_t>(stream, external, 0, size, 1);
    const std::uint8_t byte = 1;
    refusal(WEIR_ERROR_INVALID, table().fill, weir_stream(stream), weir_allocation(external), size,
            std::uint64_t{1}, static_cast<const void*>(&byte), 1u);
    stream.synchronize();
  }
}

WEIR_REQUIREMENT(4, 77, ExternalMemory, PatternsBeginAtTheRange,
                 "A fill of external memory at an odd address begins with the first byte of its pattern.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(512);
  const Stream stream;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u})
    for (const std::uint64_t begin : {1u, 3u, 7u, 13u}) {
      const Memory external = wrapped(owner, begin, 256);
      const Bytes repeated = pattern(width, width);
      fill<std::uint8_t>(stream, owner, 0, 512, 0x5a);
      call(table().fill, weir_stream(stream), weir_allocation(external), std::uint64_t{16}, std::uint64_t{64},
           static_cast<const void*>(repeated.data()), width);
      stream.synchronize();
      Bytes expected(512, 0x5a);
      for (std::size_t i = 0; i < 64; ++i) expected[begin + 16 + i] = repeated[i % width];
      ASSERT_TRUE(same_bytes(owner.read(), expected))
          << "64 bytes at offset 16 of external memory, which begins " << begin
          << " bytes after an aligned address, were filled with a pattern of " << width
          << " bytes. Look first at whether fill takes the pattern's phase from the address";
    }
}

WEIR_REQUIREMENT(
    5, 72, ExternalMemory, PatternsOfNodesBeginAtTheRange,
    "A fill node of external memory at an odd address begins with the first byte of its pattern.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  needs(WEIR_CAP_GRAPHS);
  const Memory owner(512);
  const Stream stream;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u})
    for (const std::uint64_t begin : {1u, 7u}) {
      const Memory external = wrapped(owner, begin, 256);
      const Bytes repeated = pattern(width, width);
      fill<std::uint8_t>(stream, owner, 0, 512, 0x5a);
      GraphNodes nodes;
      nodes.fill_bytes(external, 16, 64, repeated.data(), width, {});
      const Graph graph = nodes.make();
      launch(graph, stream);
      stream.synchronize();
      Bytes expected(512, 0x5a);
      for (std::size_t i = 0; i < 64; ++i) expected[begin + 16 + i] = repeated[i % width];
      ASSERT_TRUE(same_bytes(owner.read(), expected))
          << "a node filled 64 bytes at offset 16 of external memory, which begins " << begin
          << " bytes after an aligned address, with a pattern of " << width
          << " bytes. Look first at whether the fill of nodes needs aligned addresses";
    }
}

WEIR_REQUIREMENT(5, 57, Graphs, CopiesOfNothingTakeNull,
                 "A copy node of 0 bytes does nothing, also with null for the host memory.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  memory.write(Bytes(64, 1));
  GraphNodes nodes;
  nodes.copy_to_device(memory, nullptr, 0);
  nodes.copy_to_host(nullptr, memory, 0, {0});
  nodes.fill<std::uint8_t>(memory, 0, 8, 2, {1});
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  Bytes expected(64, 1);
  std::fill_n(expected.begin(), 8, std::uint8_t{2});
  EXPECT_TRUE(same_bytes(memory.read(), expected))
      << "after two copy nodes of 0 bytes with null for the host memory, and a fill node of 8 bytes after "
         "them. "
         "driver.h: a size of 0 has no effect. Look first at what graph_create makes of a node of 0 bytes";
}

WEIR_REQUIREMENT(
    5, 71, GraphUpdates, ChangeTheGrid,
    "A kernel node that was updated to a larger or smaller grid runs with that grid, or the update "
    "returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel shape("shape");
  const Stream stream;
  constexpr std::size_t most = 6;
  const Memory seen(32 * most * 4);
  for (const auto& [from, to] : {std::pair{1u, 5u}, std::pair{6u, 2u}}) {
    GraphNodes nodes, changed;
    nodes.kernel(shape, arguments(seen));
    changed.kernel(shape, arguments(seen));
    weir_launch launches[2] = {*nodes[0].launch, *changed[0].launch};
    for (weir_launch& one : launches) std::fill_n(one.block, 3, 1u), std::fill_n(one.grid, 3, 1u);
    launches[0].grid[0] = from;
    launches[1].grid[0] = to;
    nodes[0].launch = &launches[0];
    changed[0].launch = &launches[1];
    const Graph graph = nodes.make();
    launch(graph, stream);
    stream.synchronize();
    fill<std::uint32_t>(stream, seen, 0, seen.size(), 0);
    changed.update(graph, 0);
    launch(graph, stream);
    stream.synchronize();
    const auto values = seen.values<std::uint32_t>();
    std::size_t ran = 0;
    for (std::size_t i = 0; i < most; ++i) ran += values[8 * i] != 0;
    EXPECT_EQ(ran, to) << "blocks ran after an update from a grid of " << from << " to one of " << to
                       << ". Look first at which fields of the launch graph_update takes over";
  }
}

}  // namespace
}  // namespace weir::conformance
