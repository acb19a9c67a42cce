// SPDX-License-Identifier: Apache-2.0
// Levels 1 and 4: copies to neighbouring bytes at the same time, on streams of their own.
#include <algorithm>
#include <atomic>
#include <chrono>

#include "at_once.hpp"
#include "other_device.hpp"

namespace weir::conformance {
namespace {

constexpr int writers = 3;
constexpr std::size_t most = 80;  // copies in a writer's stream at a time

/// One writer's copy to its byte of the shared word, and the copy of that byte to byte `place` of its own
/// memory.
struct Copies {
  std::function<weir_result(weir_stream, std::uint64_t offset, const std::uint8_t* value, weir_status*)>
      write;
  std::function<weir_result(weir_stream, weir_allocation own, std::uint64_t place, std::uint64_t offset,
                            weir_status*)>
      keep;
};

class Neighbours {
 public:
  Neighbours() {
    for (int i = 0; i < writers; ++i) own_.emplace_back(most);
  }

  /// `together`: how many of a writer's copies are in its stream at a time.
  void expect_apart(const char* what, const Copies& copies, std::size_t together = most) {
    std::atomic<int> lost{0}, all{0};
    const auto write = [&](int writer, std::size_t count, const Race& race) {
      const weir_stream stream = streams_[writer];
      const weir_allocation own = own_[static_cast<std::size_t>(writer)];
      const std::uint64_t offset = begin + static_cast<std::uint64_t>(writer);
      weir_status status = new_status();
      std::uint8_t written[most] = {}, found[most] = {};
      for (std::uint8_t first = 1; lost == 0 && race.goes_on(); ++first) {
        bool worked = true;
        for (std::size_t i = 0; i < count; ++i) {
          written[i] = static_cast<std::uint8_t>(first + i);
          worked = worked && copies.write(stream, offset, &written[i], &status) == WEIR_OK;
          if (count == 1) worked = worked && quick_table().stream_synchronize(stream, &status) == WEIR_OK;
          worked = worked && copies.keep(stream, own, i, offset, &status) == WEIR_OK;
        }
        worked = worked && quick_table().copy_to_host(stream, found, own, 0, count, &status) == WEIR_OK &&
                 quick_table().stream_synchronize(stream, &status) == WEIR_OK;
        all += static_cast<int>(count);
        lost += !worked || !std::equal(written, written + count, found);
      }
    };
    const std::chrono::milliseconds time(judged().thorough ? 1000 : 110);
    {
      const Race race(time);  // side by side, with the work of each thread back to back
      std::vector<std::jthread> running;
      for (int i = 0; i < writers; ++i) running.emplace_back([&, i] { write(i, together, race); });
    }
    const Race race(time);  // interrupted at any instruction
    at_once(writers, [&](int i) { write(i, together, race); });
    EXPECT_EQ(lost, 0)
        << "times, of " << all << " calls of " << what << " for single bytes, one of up to " << together
        << " failed or lost its byte, while other streams copied to the bytes next to it. driver.h: a copy "
           "writes its range. Look first at whether "
        << what << " reads and writes whole words at the ends of its range";
  }

  static constexpr std::uint64_t begin = 17, size = 64;  // begin is inside a word

 private:
  const Stream streams_[writers];
  std::vector<Memory> own_;
};

/// Keeps a byte of device memory.
auto keep_of(weir_allocation shared) {
  return [shared](weir_stream stream, weir_allocation own, std::uint64_t place, std::uint64_t offset,
                  weir_status* status) {
    return quick_table().copy_on_device(stream, own, place, shared, offset, 1, status);
  };
}

/// 256 bytes of all values, so that a copy can read each.
Bytes all_values() {
  Bytes values(256);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  return values;
}

WEIR_REQUIREMENT(
    1, 68, Copies, ThreadsCopyToNeighboursOnTheDevice,
    "Threads that copy from the host to neighbouring bytes of a device at the same time, each on a stream of "
    "its own, leave one another's bytes alone.") {
  const Memory memory(Neighbours::size);
  const weir_allocation to = memory;
  Neighbours().expect_apart(
      "copy_to_device",
      {[&](weir_stream stream, std::uint64_t offset, const std::uint8_t* value, weir_status* status) {
         return quick_table().copy_to_device(stream, to, offset, value, 1, status);
       },
       keep_of(to)});
}

WEIR_REQUIREMENT(1, 69, Copies, OnDeviceOfThreadsLeaveNeighboursAlone,
                 "Threads that copy on a device to neighbouring bytes at the same time, each on a stream of "
                 "its own, leave "
                 "one another's bytes alone.") {
  const Memory memory(Neighbours::size), values(256);
  values.write(all_values());
  const weir_allocation to = memory, from = values;
  Neighbours().expect_apart(
      "copy_on_device",
      {[&](weir_stream stream, std::uint64_t offset, const std::uint8_t* value, weir_status* status) {
         return quick_table().copy_on_device(stream, to, offset, from, *value, 1, status);
       },
       keep_of(to)});
}

WEIR_REQUIREMENT(
    1, 70, Copies, ThreadsCopyToNeighboursOnTheHost,
    "Threads that copy from a device to neighbouring bytes of the host at the same time, each on a stream of "
    "its own, leave one another's bytes alone.") {
  const Memory values(256);
  values.write(all_values());
  const weir_allocation from = values;
  const HostMemory host(Neighbours::size);
  // Only pinned memory may change between a copy to it and the next one from it.
  Neighbours().expect_apart(
      "copy_to_host",
      {[&](weir_stream stream, std::uint64_t offset, const std::uint8_t* value, weir_status* status) {
         return quick_table().copy_to_host(stream, host.data() + offset, from, *value, 1, status);
       },
       [&](weir_stream stream, weir_allocation own, std::uint64_t place, std::uint64_t offset,
           weir_status* status) {
         return quick_table().copy_to_device(stream, own, place, host.data() + offset, 1, status);
       }},
      has(WEIR_CAP_PINNED_MEMORY) ? most : 1);
}

WEIR_REQUIREMENT(
    4, 90, PeerCopies, ThreadsCopyToNeighbours,
    "Threads that copy from another device to neighbouring bytes at the same time, each on a stream of its "
    "own, leave one another's bytes alone.") {
  needs(WEIR_CAP_PEER_COPY);
  const weir_device other = other_device();
  const Memory memory(Neighbours::size), theirs(256, WEIR_MEMORY_DEVICE, other);
  const Stream writing(other);
  const Bytes values = all_values();
  call(table().copy_to_device, weir_stream(writing), weir_allocation(theirs), std::uint64_t{0},
       static_cast<const void*>(values.data()), std::uint64_t{256});
  writing.synchronize();
  const weir_allocation to = memory, from = theirs;
  Neighbours().expect_apart(
      "copy_peer",
      {[&](weir_stream stream, std::uint64_t offset, const std::uint8_t* value, weir_status* status) {
         return quick_table().copy_peer(stream, to, offset, from, *value, 1, status);
       },
       keep_of(to)});
}

}  // namespace
}  // namespace weir::conformance
