// SPDX-License-Identifier: Apache-2.0
// Level 4: work that many streams hold back, and long waits for it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 91, Callbacks, HeldStreamsLeaveOthersFree,
                 "Work of a stream runs while host callbacks hold up to 64 other streams, or half as many as "
                 "the device recommends, also if it is submitted together with the callbacks.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const std::size_t most = independent_streams(64);
  const Memory memory(64);
  const Stream free;
  const std::vector<Stream> held(most);
  for (std::size_t count = 1; count <= most; count = count < 16 ? count + 1 : 2 * count)
    for (int round = 0; round < 8; ++round) {
      Gate gate;
      for (std::size_t i = 0; i < count; ++i) {
        gate.hold(held[i]);
        held[i].flush();
      }
      // The second fill comes when most callbacks run.
      for (const std::uint8_t value : {1, 2}) {
        fill<std::uint8_t>(free, memory, 0, 64, value);
        free.flush();
        // Less than the gate's time.
        const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience()) / 2;
        while (!free.done() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        EXPECT_TRUE(free.done())
            << "a fill of one stream did not end while host callbacks held " << count
            << " other streams. driver.h: streams wait for one another only through stream_wait_event. Look "
               "first at which threads call callbacks, and at how many streams share one";
        if (value == 1) (void)gate.reached();
      }
      gate.open();
      for (std::size_t i = 0; i < count; ++i) held[i].synchronize();
      free.synchronize();
      if (HasFailure()) return;
    }
  if (!judged().thorough) return;
  // Drivers may end threads that had nothing to do for some time.
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  Gate gate;
  gate.hold(free);
  free.flush();
  ASSERT_TRUE(gate.reached()) << "no callback had run for 2.5 seconds before";
  gate.open();
  free.synchronize();
}

/// Longer than a time limit that a driver may have put on a wait.
constexpr std::chrono::milliseconds long_time{2500}, longest_time{7500};

/// How long callbacks hold a stream if the test does not release them.
std::chrono::milliseconds longest_hold() {
  return patience() + longest_time;
}

/// A device that nothing else in this process has opened, with one stream that was destroyed while a host
/// callback held it. Requirements of the group FirstCall run in a process of their own.
class ClosingDevice {
 public:
  ClosingDevice() {
    needs_unopened(WEIR_CAP_HOST_CALLBACK);
    call(table().device_open, judged().device, &device_);
  }
  weir_device get() const { return device_; }

  /// Takes the opening that another call made while this one was closed.
  void take(weir_device opened) {
    closing_.join();
    device_ = opened;
    released_ = closed_ = false;
  }

  void destroy_a_held_stream() {
    weir_stream stream = nullptr;
    call(table().stream_create, device_, static_cast<const weir_stream_options*>(nullptr), &stream);
    const weir_host_callback hold = [](void* user) {
      auto& self = *static_cast<ClosingDevice*>(user);
      const auto began = std::chrono::steady_clock::now();
      while (!self.released_ && std::chrono::steady_clock::now() - began < longest_hold())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      self.ended_ = true;
    };
    ended_ = false;
    call(table().stream_host_callback, stream, hold, static_cast<void*>(this));
    call(table().stream_flush, stream);
    call(table().stream_destroy, stream);
  }
  /// Closes it on a thread.
  void begin_to_close() {
    closing_ = std::jthread([this] {
      result_ = result_of(table().device_close, device_);
      closed_ = true;
    });
  }
  bool closed() const { return closed_; }
  void release() { released_ = true; }
  /// The callback uses this object.
  ~ClosingDevice() {
    release();
    if (closing_.joinable()) closing_.join();
    for (int i = 0; i < 2000 && !ended_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(result_, WEIR_OK) << "the last device_close";
  }

 private:
  weir_device device_ = nullptr;
  std::atomic<bool> released_{false}, closed_{false};
  std::atomic<bool> ended_{true};  ///< the callback
  std::atomic<weir_result> result_{WEIR_OK};
  std::jthread closing_;
};

WEIR_REQUIREMENT(4, 92, FirstCall, OpeningsOfThreadsAreCounted,
                 "After threads opened and closed a device equally often at the same time, the first opening "
                 "is the last one: its device_close waits for the device's work.") {
  ClosingDevice device;
  std::atomic<int> failed{0};
  const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 150));
  {
    Interruptions interruptions;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        const Interruptions::Here here(interruptions);
        weir_status status = new_status();
        while (failed == 0 && race.goes_on())
          for (int k = 0; k < 64; ++k) {
            weir_device opened = nullptr;
            failed += quick_table().device_open(judged().device, &opened, &status) != WEIR_OK ||
                      opened != device.get();
            failed += quick_table().device_close(device.get(), &status) != WEIR_OK;
          }
      });
  }
  EXPECT_EQ(failed, 0) << "of the calls of device_open and device_close on three threads failed";
  device.destroy_a_held_stream();
  device.begin_to_close();
  EXPECT_TRUE(never([&] { return device.closed(); }))
      << "device_close returned while work of the device was held, although every other opening had been "
         "closed, by threads that opened and closed the device at the same time. driver.h: the last call "
         "blocks until the device's work is complete. Look first at the lock of the count of openings";
}

WEIR_REQUIREMENT(4, 94, FirstCall, CallsProceedWhileADeviceCloses,
                 "While the last device_close waits for work, other threads count and describe devices, and "
                 "open, use and close another one.") {
  ClosingDevice device;
  device.destroy_a_held_stream();
  device.begin_to_close();
  EXPECT_TRUE(never([&] { return device.closed(); })) << "device_close did not wait for the device's work";
  std::atomic<bool> proceeded{false};
  std::jthread acting([&] {
    std::uint32_t count = 0;
    (void)result_of(table().device_count, &count);
    for (std::uint32_t index = 0; index < std::min(count, 4u); ++index) {
      weir_device_info described{};
      described.struct_size = sizeof described;
      (void)result_of(table().device_get_info, index, &described);
      weir_device opened = nullptr;
      if (index == judged().device || result_of(table().device_open, index, &opened) != WEIR_OK) continue;
      std::uint64_t free = 0, total = 0;
      (void)result_of(table().device_get_memory, opened, &free, &total);
      (void)result_of(table().device_close, opened);
    }
    proceeded = true;
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience()) / 2;
  while (!proceeded && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_TRUE(proceeded)
      << "one thread waits in the last device_close for work of the device, and another one calls "
         "device_count, and device_get_info, device_open, device_get_memory and device_close of other "
         "devices, which do not return. driver.h: a driver that blocks in one call must let calls on other "
         "threads proceed. Look first at the locks that device_close holds while it waits";
  device.release();
}

/// Uses a device with each kind of object.
void expect_usable(weir_device device, const char* when) {
  EXPECT_NO_THROW({
    const Stream stream(device);
    const Event event(WEIR_EVENT_PLAIN, device);
    const Memory memory(64, WEIR_MEMORY_DEVICE, device);
    fill<std::uint8_t>(stream, memory, 0, 64, 7);
    event.record(stream);
    event.synchronize();
    Bytes host(64);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(memory),
         std::uint64_t{0}, std::uint64_t{64});
    stream.synchronize();
    EXPECT_TRUE(same_bytes(host, Bytes(64, 7))) << when;
  }) << when;
}

WEIR_REQUIREMENT(
    4, 84, FirstCall, OpenedWhileItClosesIsUsable,
    "A device that is opened while its last device_close waits is open, at once or when that call "
    "has returned, and its new objects stay usable after that. One device_close closes it again.") {
  constexpr const char* why =
      "the device was opened while its last device_close waited for work. driver.h: device_open opens it "
      "again. Look first at what device_close does after its wait";
  ClosingDevice device;
  device.destroy_a_held_stream();
  device.begin_to_close();
  ASSERT_TRUE(never([&] { return device.closed(); })) << "device_close did not wait for the device's work";
  weir_device opened = nullptr;
  std::atomic<bool> ended{false};
  std::atomic<weir_result> result{WEIR_OK};
  std::jthread opening([&] {
    result = result_of(table().device_open, judged().device, &opened);
    ended = true;
  });
  // A driver may open it only when it is closed.
  (void)never([&] { return ended.load(); });
  const bool at_once = ended && result == WEIR_OK;
  weir_allocation early = nullptr;
  weir_stream stream = nullptr;
  if (at_once) {
    const weir_memory_options options = memory_options(64);
    EXPECT_EQ(result_of(table().memory_allocate, opened, &options, &early), WEIR_OK) << why;
    EXPECT_EQ(
        result_of(table().stream_create, opened, static_cast<const weir_stream_options*>(nullptr), &stream),
        WEIR_OK)
        << why;
  }
  device.release();
  opening.join();
  ASSERT_TRUE(eventually([&] { return device.closed(); })) << "device_close did not return after the work";
  ASSERT_EQ(result, WEIR_OK) << "device_open: " << why;
  if (early && stream) {
    const std::uint8_t byte = 5;
    Bytes host(64);
    EXPECT_EQ(result_of(table().fill, stream, early, std::uint64_t{0}, std::uint64_t{64},
                        static_cast<const void*>(&byte), 1u),
              WEIR_OK)
        << why;
    EXPECT_EQ(result_of(table().copy_to_host, stream, static_cast<void*>(host.data()), early,
                        std::uint64_t{0}, std::uint64_t{64}),
              WEIR_OK)
        << why;
    EXPECT_EQ(result_of(table().stream_synchronize, stream), WEIR_OK) << why;
    EXPECT_TRUE(same_bytes(host, Bytes(64, 5))) << why;
  }
  const weir_result destroyed = stream ? result_of(table().stream_destroy, stream) : WEIR_OK;
  EXPECT_EQ(destroyed, WEIR_OK) << "stream_destroy: " << why;
  const weir_result freed = early ? result_of(table().memory_free, early) : WEIR_OK;
  EXPECT_EQ(freed, WEIR_OK) << "memory_free: " << why;
  expect_usable(opened, why);
  device.take(opened);
  device.destroy_a_held_stream();
  device.begin_to_close();
  EXPECT_TRUE(never([&] { return device.closed(); }))
      << "the device was opened while its last device_close waited for work, and was closed once. This "
         "device_close is the last one, but it returned while work of the device was held. driver.h: the "
         "last call blocks until the device's work is complete. Look first at what device_close and "
         "device_open make of the reference count when they meet";
}

WEIR_REQUIREMENT(4, 95, FirstCall, WaitsHaveNoTimeLimit,
                 "event_synchronize and stream_synchronize wait for a host callback that takes seconds, and "
                 "the work behind it runs.") {
  ClosingDevice device;
  const std::chrono::milliseconds time = judged().thorough ? longest_time : long_time;
  weir_stream stream = nullptr;
  weir_event event = nullptr;
  call(table().stream_create, device.get(), static_cast<const weir_stream_options*>(nullptr), &stream);
  call(table().event_create, device.get(), std::uint32_t{WEIR_EVENT_PLAIN}, &event);
  static std::atomic<bool> released{false};
  const weir_host_callback hold = [](void*) {
    const auto began = std::chrono::steady_clock::now();
    while (!released && std::chrono::steady_clock::now() - began < longest_hold())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  call(table().stream_host_callback, stream, hold, static_cast<void*>(nullptr));
  call(table().event_record, event, stream);
  static std::atomic<bool> ran{false};
  const weir_host_callback run = [](void*) { ran = true; };
  call(table().stream_host_callback, stream, run, static_cast<void*>(nullptr));
  std::atomic<bool> of_event{false}, of_stream{false};
  weir_result event_result = WEIR_OK, stream_result = WEIR_OK;
  {
    std::jthread in_event([&] {
      event_result = result_of(table().event_synchronize, event);
      of_event = true;
    });
    std::jthread in_stream([&] {
      stream_result = result_of(table().stream_synchronize, stream);
      of_stream = true;
    });
    const auto limit = std::chrono::steady_clock::now() + time;
    while (!of_event && !of_stream && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(of_event) << "event_synchronize returned before the work that the event covers had ended";
    EXPECT_FALSE(of_stream) << "stream_synchronize returned before the stream's work had ended";
    EXPECT_FALSE(ran) << "a second host callback of the stream ran while the first one was running";
    released = true;
  }
  const std::string after = " after a host callback of " + std::to_string(time.count()) +
                            " ms. driver.h sets no time limit for work. Look first at what watches callbacks";
  EXPECT_EQ(result_name(event_result), "WEIR_OK") << "is what event_synchronize returned" << after;
  EXPECT_EQ(result_name(stream_result), "WEIR_OK") << "is what stream_synchronize returned" << after;
  EXPECT_TRUE(ran) << "the callback behind it did not run" << after;
  call(table().event_destroy, event);
  call(table().stream_destroy, stream);
  call(table().device_close, device.get());  // C2.71 has work that takes seconds
}

}  // namespace
}  // namespace weir::conformance
