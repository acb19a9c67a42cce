// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "places.hpp"
#include "runtime/devices/device_state.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

TEST(Device, ReportsItsProperties) {
  const Device device = open_real();
  const std::string tested = tested_device();
  EXPECT_EQ(device.driver(), tested.substr(0, tested.find(':')));
  EXPECT_EQ(device.name(), device.driver() + ":0");
  EXPECT_EQ(device.info().kind == DeviceKind::cpu, device.driver() == "cpu");
  EXPECT_GE(device.info().multiprocessors, 1u);
  EXPECT_GT(device.memory().total, 0u);
}

TEST(Device, IsTheSameWhicheverWayItIsFound) {
  EXPECT_EQ(open_real(), open_real());
}

// Without a layer the core calls the driver's functions directly, so layers that are off cost nothing.
TEST(Device, IsCalledDirectlyWhereNoLayerIsAskedFor) {
  if (std::getenv("WEIR_LAYERS")) GTEST_SKIP() << "this run has layers";
  const weir_driver_table& called = open_real().state()->driver().table();
  Dl_info library{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(called.device_count), &library), 0);
  void* const driver = dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(driver, nullptr) << dlerror();
  const auto entry = reinterpret_cast<weir_driver_entry_function>(dlsym(driver, WEIR_DRIVER_ENTRY_NAME));
  ASSERT_NE(entry, nullptr) << library.dli_fname << " is called, and is no driver";
  const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
  const weir_driver_table* own = nullptr;
  ASSERT_EQ(entry(&host, &own, nullptr), WEIR_OK);
#define WEIR_SLOT(slot, need) EXPECT_TRUE(!own->slot || called.slot == own->slot) << #slot;
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
  dlclose(driver);
}

// proves R35
TEST(Device, UnknownNamesAreRefusedWithTheExistingOnes) {
  EXPECT_THAT(
      error_of(ErrorCode::no_device, [] { open("quantum"); }),
      ::testing::AllOf(HasSubstr("no device 'quantum': no usable driver has that name. The drivers are:"),
                       HasSubstr("\n  cpu: usable"), ::testing::Not(HasSubstr("no driver was found"))));
  EXPECT_THAT(error_of(ErrorCode::invalid, [] { open("cpu:one"); }), HasSubstr("expected a number"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [] { open(":1"); }), HasSubstr("expected a driver's name"));
  EXPECT_THAT(error_of(ErrorCode::no_device, [] { open("c\x1bpu"); }), HasSubstr("no device 'c?pu'"));
}

TEST(Device, IsTheOneThatTheEnvironmentNames) {
  const std::string tested = tested_device();
  setenv("WEIR_DRIVER_PATH", built(WEIR_DRIVER_FOLDER).c_str(), 1);
  setenv("WEIR_DEVICE", "cpu:0", 1);
  EXPECT_EQ(weir::open().name(), "cpu:0");
  setenv("WEIR_DEVICE", "cpu:99", 1);
  EXPECT_THAT(error_of(ErrorCode::no_device, [] { weir::open(); }),
              ::testing::AllOf(HasSubstr("WEIR_DEVICE"), HasSubstr("numbered from 0")));
  setenv("WEIR_DEVICE", "CPU", 1);
  EXPECT_THAT(error_of(ErrorCode::no_device, [] { weir::open(); }),
              ::testing::AllOf(HasSubstr("WEIR_DEVICE"), HasSubstr("did you mean 'cpu'?")));
  setenv("WEIR_DEVICE", "pcu", 1);  // neighbours exchanged
  EXPECT_THAT(error_of(ErrorCode::no_device, [] { weir::open(); }), HasSubstr("did you mean 'cpu'?"));
  unsetenv("WEIR_DEVICE");
  EXPECT_FALSE(weir::open().name().empty());
  setenv("WEIR_DEVICE", tested.c_str(), 1);
  EXPECT_FALSE(devices().empty());
}

TEST(DeviceDeathTest, OfNoNameIsNotOpenedIfADriverRefusesASetting) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // drivers are loaded once per process
  EXPECT_EXIT(
      {
        setenv("WEIR_DRIVER_PATH", built(WEIR_DRIVER_FOLDER).c_str(), 1);
        setenv("WEIR_CPU_THREADS", "many", 1);
        unsetenv("WEIR_DEVICE");
        std::fputs(error_of(ErrorCode::invalid, [] { weir::open(); }).c_str(), stderr);
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "driver cpu: .*WEIR_CPU_THREADS is 'many'; .*correct the setting, or name a device of another driver");
}

TEST(Device, IsOpenedInTheDriverOnFirstUseOnly) {
  const Device device = Watch::open();
  (void)device.info();
  EXPECT_EQ(Watch::get().count("device_open"), 0u);
  (void)device.create_stream();
  (void)device.create_stream();
  EXPECT_EQ(Watch::get().count("device_open"), 1u);
}

// proves R4
TEST(Device, SynchronizeDrainsDestroyedStreamsToo) {
  const Device device = open_real();
  const Kernels kernels(device);
  const auto x = device.array<std::int32_t>(64), y = device.array<std::int32_t>(64),
             z = device.array<std::int32_t>(64);
  Flag flag;
  const Stream a = device.create_stream(), b = device.create_stream();
  kernels.close_gate(a, flag);
  for (const auto* array : {&x, &y, &z}) {
    array->fill(a, 1);
    b.wait(a);
  }
  {
    const Stream gone = device.create_stream();
    gone.wait(a);
    kernels.add(gone, x, 1);
  }
  kernels.add(b, y, 1);
  device.default_stream().wait(a);
  kernels.add(device.default_stream(), z, 1);
  std::jthread opener([&] { flag.open(); });
  device.synchronize();
  opener.join();
  EXPECT_TRUE(a.query());
  EXPECT_TRUE(b.query());
  EXPECT_TRUE(device.default_stream().query());
  EXPECT_EQ(x.to_host()[0], 2);
  EXPECT_EQ(y.to_host()[0], 2);
  EXPECT_EQ(z.to_host()[0], 2);
}

TEST(Device, StreamsOfItArePooled) {
  const Device device = Watch::open();
  for (int i = 0; i < 100; ++i) (void)device.create_stream();
  EXPECT_EQ(Watch::get().count("stream_create"), 1u);
}

TEST(Device, PinnedArraysWorkWithAndWithoutPinnedMemory) {
  for (const std::uint64_t hidden : {std::uint64_t{0}, std::uint64_t{WEIR_CAP_PINNED_MEMORY}}) {
    const Device device = Watch::open(hidden);
    auto pinned = device.pinned_array<float>(1000);
    EXPECT_EQ(pinned[999], 0.0f);
    pinned[999] = 4.0f;
    const auto x = device.array<float>(1000);
    const Stream stream = device.create_stream();
    x.copy_from_async(stream, pinned);
    auto back = device.pinned_array<float>(1000);
    x.copy_to_async(stream, back);
    stream.synchronize();
    EXPECT_EQ(back[999], 4.0f);
  }
}

TEST(Device, PinnedArraysThatAreDestroyedWhileCopiesUseThemAreFreedLater) {
  const Device device = Watch::open();
  if (!device.info().has(Capability::pinned_memory)) GTEST_SKIP() << "needs pinned memory";
  const auto x = device.array<float>(1000);
  const Stream stream = device.create_stream();
  x.fill(stream, 1.0f);
  device.synchronize();  // otherwise the memory waits for earlier work on other streams, too
  Watch& watch = Watch::get();
  const std::uint64_t freed = watch.count("memory_free");
  constexpr std::uint64_t rounds = 100;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::atomic<bool> go{false};
    {
      auto pinned = device.pinned_array<float>(1000);  // first, because a GPU's driver may wait for all work
      stream.call_host([&] { go.wait(false); });
      x.copy_to_async(stream, pinned);
    }
    go = true;
    go.notify_all();
    stream.synchronize();
  }
  EXPECT_GE(watch.count("memory_free") - freed, rounds - 2);
}

TEST(Device, IsDescribedAsTheDriverSays) {
  Watch::get().change_info = [](weir_device_info& info) {
    std::strcpy(info.name, "a name");
    std::strcpy(info.vendor, "a vendor");
    std::strcpy(info.driver_version, "a version");
    std::strcpy(info.location, "a place");
    std::strcpy(info.target_features, "+feature");
    std::strcpy(info.notes, "a note");
    for (std::uint8_t i = 0; i < 16; ++i) info.uuid[i] = i;
    info.kind = WEIR_DEVICE_INTEGRATED;
    info.total_memory = 101;
    info.memory_bandwidth = 102;
    info.code_target_count = 2;
    for (std::uint32_t i = 0; i < 2; ++i) {
      std::strcpy(info.code_targets[i].format, i ? "second format" : "first format");
      std::strcpy(info.code_targets[i].target, i ? "second target" : "first target");
    }
    std::uint32_t next = 200;
    for (std::uint32_t* number : {&info.multiprocessors,
                                  &info.lanes,
                                  &info.max_block_threads,
                                  &info.max_block[0],
                                  &info.max_block[1],
                                  &info.max_block[2],
                                  &info.max_grid[0],
                                  &info.max_grid[1],
                                  &info.max_grid[2],
                                  &info.max_shared_bytes,
                                  &info.max_argument_bytes,
                                  &info.memory_alignment,
                                  &info.recommended_streams,
                                  &info.max_threads_per_multiprocessor,
                                  &info.max_blocks_per_multiprocessor,
                                  &info.shared_bytes_per_multiprocessor,
                                  &info.max_registers_per_multiprocessor,
                                  &info.max_registers_per_block,
                                  &info.dlpack_type,
                                  &info.dlpack_host_type})
      *number = next++;
    info.min_priority = 7;
    info.max_priority = -8;
    info.dlpack_id = 9;
  };
  const Device device = Watch::open();
  Watch::get().change_info = nullptr;
  const DeviceInfo& info = device.info();
  EXPECT_EQ(info.name, "a name");
  EXPECT_EQ(info.vendor, "a vendor");
  EXPECT_EQ(info.driver_version, "a version");
  EXPECT_EQ(info.location, "a place");
  EXPECT_EQ(info.target_features, "+feature");
  EXPECT_EQ(info.notes, "a note");
  for (std::uint8_t i = 0; i < 16; ++i) EXPECT_EQ(info.uuid[i], i);
  EXPECT_EQ(info.kind, DeviceKind::integrated);
  EXPECT_EQ(info.total_memory, 101u);
  EXPECT_EQ(info.memory_bandwidth, 102u);
  ASSERT_EQ(info.code_targets.size(), 2u);
  EXPECT_EQ(info.code_targets[0].format, "first format");
  EXPECT_EQ(info.code_targets[1].format, "second format");
  EXPECT_EQ(info.code_targets[0].target, "first target");
  EXPECT_EQ(info.code_targets[1].target, "second target");
  const std::uint32_t numbers[] = {info.multiprocessors,
                                   info.lanes,
                                   info.max_block_threads,
                                   info.max_block[0],
                                   info.max_block[1],
                                   info.max_block[2],
                                   info.max_grid[0],
                                   info.max_grid[1],
                                   info.max_grid[2],
                                   info.max_shared_bytes,
                                   info.max_argument_bytes,
                                   info.memory_alignment,
                                   info.recommended_streams,
                                   info.max_threads_per_multiprocessor,
                                   info.max_blocks_per_multiprocessor,
                                   info.shared_bytes_per_multiprocessor,
                                   info.max_registers_per_multiprocessor,
                                   info.max_registers_per_block,
                                   info.dlpack_type,
                                   info.dlpack_host_type};
  for (std::uint32_t i = 0; i < std::size(numbers); ++i) EXPECT_EQ(numbers[i], 200 + i) << i;
  EXPECT_EQ(info.min_priority, 7);
  EXPECT_EQ(info.max_priority, -8);
  EXPECT_EQ(info.dlpack_id, 9);
}

TEST(Device, OfAnUnknownKindOrWithoutLanesIsDescribedWithWhatIsUsual) {
  Watch::get().change_info = [](weir_device_info& info) {
    info.kind = WEIR_DEVICE_OTHER + 1;
    info.lanes = 0;
    info.code_target_count = WEIR_MAX_CODE_TARGETS + 1;
  };
  const Device device = Watch::open();
  Watch::get().change_info = nullptr;
  EXPECT_EQ(device.info().kind, DeviceKind::other);
  EXPECT_EQ(device.info().lanes, 1u);
  EXPECT_EQ(device.info().code_targets.size(), std::size_t{WEIR_MAX_CODE_TARGETS});
}

TEST(Device, StreamsHaveAPriorityThatTheDeviceHas) {
  Watch::get().change_info = [](weir_device_info& info) {
    info.min_priority = 2;
    info.max_priority = -3;
  };
  const Device device = Watch::open();
  Watch::get().change_info = nullptr;
  EXPECT_EQ(device.create_stream(-100).priority(), -3);
  EXPECT_EQ(device.create_stream(-1).priority(), -1);
  EXPECT_EQ(device.create_stream(100).priority(), 2);
  EXPECT_EQ(device.create_stream().priority(), 0);
}

TEST(Device, CountsItsStreamsAndEvents) {
  const Device device = Watch::open();
  EXPECT_EQ(device.stream_statistics().streams_created, 0u);
  EXPECT_EQ(device.stream_statistics().events_created, 0u);
  {
    const Stream a = device.create_stream(), b = device.create_stream();
    const Event event = device.create_event();
    EXPECT_EQ(device.stream_statistics().streams_created, 2u);
    EXPECT_EQ(device.stream_statistics().events_created, 1u);
  }
  EXPECT_EQ(device.stream_statistics().streams_created, 2u) << "kept for reuse";
  device.trim_memory();
  EXPECT_EQ(device.stream_statistics().streams_created, 0u);
  EXPECT_EQ(device.stream_statistics().events_created, 0u);
}

TEST(Device, TrimReturnsTheBytesThatWentBackToTheDriver) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  { const auto x = device.array<std::uint8_t>(stream, 65'536), y = device.array<std::uint8_t>(stream, 4096); }
  stream.synchronize();
  EXPECT_EQ(device.trim_memory(), 65'536u + 4096u);
  EXPECT_EQ(device.trim_memory(), 0u);
}

}  // namespace
}  // namespace weir::test
