// SPDX-License-Identifier: Apache-2.0
// Levels 0 and 1: messages and memory of several threads at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "at_once.hpp"
#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

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

}  // namespace
}  // namespace weir::conformance
