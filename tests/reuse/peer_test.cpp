// SPDX-License-Identifier: Apache-2.0
// Copies between two devices of one driver.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "runtime/devices/device_state.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

/// Two devices of one driver: the CPU driver's device 0 under two numbers.
struct Pair {
  Pair() {
    static weir_driver_table table = [] {
      weir_driver_table t = real();
      t.device_open = [](std::uint32_t, weir_device* out, weir_status* status) {
        return real().device_open(0, out, status);
      };
      t.device_get_info = [](std::uint32_t, weir_device_info* out, weir_status* status) {
        return real().device_get_info(0, out, status);
      };
      return t;
    }();
    const auto* driver =
        new GpuDriver(table, table.abi_version, table.abi_version);  // lives as long as the process
    first.emplace(&detail::device_state(*driver, 0));
    second.emplace(&detail::device_state(*driver, 1));
  }
  static const weir_driver_table& real() {
    static const weir_driver_table& table = open_real().state()->driver().table();
    return table;
  }
  std::optional<Device> first, second;
};

// proves R6
TEST(PeerCopy, OfAnArrayWhoseStreamWasDestroyed) {
  const Pair pair;
  std::optional<Array<std::int32_t>> x;
  {
    const Stream home = pair.first->create_stream();
    x.emplace(pair.first->array<std::int32_t>(home, 100));
    x->fill(home, 7);
    home.synchronize();
  }
  pair.first->trim_memory();  // destroys the driver's stream as well
  const Stream stream = pair.second->create_stream();
  const auto y = pair.second->array<std::int32_t>(stream, 100);
  y.copy_from(stream, *x);
  EXPECT_EQ(y.to_host(stream)[99], 7);
}

// proves R2
TEST(PeerCopy, ComesAfterTheEarlierLifeOfMemoryThatAStreamOfTheSameNumberUsed) {
  const Pair pair;
  const Kernels kernels(*pair.first);
  const StreamRef home = pair.first->default_stream(), stream = pair.second->default_stream();
  ASSERT_EQ(home.state()->slot, stream.state()->slot);
  const auto source = pair.second->array<std::int32_t>(stream, 1000);
  source.fill(stream, 5);
  stream.synchronize();
  Flag flag;
  {
    const auto earlier = pair.first->array<std::int32_t>(home, 1000);
    earlier.fill(home, 0);
    kernels.close_gate(home, flag);
    kernels.add(home, earlier, 1);
  }
  const auto x =
      pair.first->array<std::int32_t>(home, 1000);  // the same memory, still in use by its earlier owner
  x.slice(0, 500).fill(home, 4);
  x.slice(500, 1000).copy_from(stream, source.slice(500, 1000));  // another part: no wait for the fill
  EXPECT_FALSE(stream.query());
  flag.open();
  stream.synchronize();
  const auto values = x.to_host(home);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[999], 5);
}

// proves R2
TEST(PeerCopy, HoldsBackTheReuseOfTheMemoryThatItReads) {
  const Pair pair;
  const Kernels kernels(*pair.second);
  const Stream home = pair.first->create_stream(), stream = pair.second->create_stream();
  const auto y = pair.second->array<std::int32_t>(stream, 1000);
  Flag flag;
  {
    const auto x = pair.first->array<std::int32_t>(home, 1000);
    x.fill(home, 3);
    home.synchronize();
    kernels.close_gate(stream, flag);
    y.copy_from(stream, x);
  }
  const auto next = pair.first->array<std::int32_t>(home, 1000);
  next.fill(home, 9);
  // Time for a fill that does not wait for the copy.
  for (const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
       !home.query() && std::chrono::steady_clock::now() < limit;)
    std::this_thread::yield();
  flag.open();
  EXPECT_EQ(y.to_host(stream)[500], 3);
}

// proves R1
TEST(PeerCopy, LetsNoStreamOfTheOtherDeviceWait) {
  const Pair pair;
  const Kernels kernels(*pair.second);
  const Stream home = pair.first->create_stream(), stream = pair.second->create_stream();
  const auto x = pair.first->array<std::int32_t>(home, 1000), z = pair.first->array<std::int32_t>(home, 10);
  const auto y = pair.second->array<std::int32_t>(stream, 1000);
  x.fill(home, 3);
  home.synchronize();
  Flag flag;
  kernels.close_gate(stream, flag);
  for (int i = 0; i < 3; ++i) y.copy_from(stream, x);
  z.fill(home, 4);
  EXPECT_EQ(z.to_host(home)[9], 4);  // returns although the gate is closed
  EXPECT_FALSE(stream.query());
  flag.open();
  EXPECT_EQ(y.to_host(stream)[999], 3);
}

// proves R6
TEST(PeerCopy, ItsMemoryIsReusedOnceTheCopyIsDone) {
  const Pair pair;
  const Stream home = pair.first->create_stream(), stream = pair.second->create_stream();
  const auto y = pair.second->array<std::int32_t>(stream, 1000);
  const auto once = [&] {
    const auto x = pair.first->array<std::int32_t>(home, 1000);
    x.fill(home, 3);
    home.synchronize();
    y.copy_from(stream, x);
    stream.synchronize();
  };
  once();
  const std::uint64_t before = pair.first->memory_statistics().driver_allocations;
  for (int i = 0; i < 10; ++i) once();
  EXPECT_EQ(pair.first->memory_statistics().driver_allocations, before);
}

// proves R2
TEST(PeerCopy, ReadsMemoryAfterItsEarlierLife) {
  const Pair pair;
  const Kernels kernels(*pair.first);
  const StreamRef home = pair.first->default_stream(), stream = pair.second->default_stream();
  const auto y = pair.second->array<std::int32_t>(stream, 1000);
  stream.synchronize();
  Flag flag;
  {
    const auto earlier = pair.first->array<std::int32_t>(home, 1000);
    kernels.close_gate(home, flag);
    kernels.add(home, earlier, 1);
  }
  const auto x = pair.first->array<std::int32_t>(home, 1000);  // the same memory
  y.copy_from(stream, x);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // time for a copy that does not wait
  EXPECT_FALSE(stream.query());
  flag.open();
  stream.synchronize();
}

}  // namespace
}  // namespace weir::test
