// SPDX-License-Identifier: Apache-2.0
// Code that a lost device may still run. A lost device stays lost for the process, so this program has one
// test.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/api.hpp"
#include "support/kernel_code.hpp"
#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

const bool layered = use_layers("validate,fault");

std::int64_t address_of(std::atomic<std::uint32_t>& word) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&word));
}

bool becomes(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  for (const auto limit = std::chrono::steady_clock::now() + patience(); word != expected;) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// proves R40
TEST(LostDevice, KeepsTheCodeThatItsProcessorMayStillRun) {
  // Never destroyed: the kernel may still use them.
  auto& arrived = *new std::atomic<std::uint32_t>(0);
  auto& met = *new std::atomic<std::uint32_t>(0);
  {
    const Device device = open("cpu");
    const Stream stream = device.create_stream(), other = device.create_stream();
    const Module module = load(device);
    const KernelFunction meet =
        module.kernel("meet", {KernelParameter::of<std::int64_t>(), KernelParameter::of<std::uint32_t>(),
                               KernelParameter::of<std::int64_t>()});
    meet.launch(stream, {1, 1}, {address_of(arrived), std::uint32_t{2}, address_of(met)});
    stream.flush();
    ASSERT_TRUE(becomes(arrived, 1)) << "the kernel does not start";
    const Event event = device.create_event();
    event.record(stream);
    layers(device).at(1).configure("call=stream_wait_event:result=device_lost");
    EXPECT_EQ(thrown_by([&] { other.wait(event); }).code(), ErrorCode::device_lost);
  }
  arrived = 2;
  EXPECT_TRUE(becomes(met, 1)) << "the kernel does not go on";
}

}  // namespace
}  // namespace weir::test
