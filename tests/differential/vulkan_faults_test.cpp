// SPDX-License-Identifier: Apache-2.0
// Faults of vendors' compilers for Vulkan, in the smallest modules that show them (tests/evidence/vulkan.md):
// each has the right result on devices that are not known to have the fault. On those that are, the test
// tells whether they still have it.
#include "vulkan_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <weir/weir.hpp>

#include "tested_device.hpp"

namespace weir::test {
namespace {

class VulkanFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!tested_device().starts_with("vulkan")) GTEST_SKIP() << "the tested device is not one of Vulkan's";
    device_.emplace(open(tested_device()));
  }
  const Device& device() const { return *device_; }

  /// y after the kernel ran a few times: the first result can be right by chance.
  template <class T, class U>
  std::vector<U> run(std::span<const unsigned char> code, const std::vector<T>& x, const std::vector<U>& y,
                     std::uint32_t blocks, std::uint32_t threads) const {
    const Stream stream = device().create_stream();
    const Module module =
        device().load_module({"spirv-vulkan", "vulkan1.3", std::as_bytes(code), "evidence"});
    const KernelFunction kernel = module.kernel(
        "main", {KernelParameter::array(), KernelParameter::array(), KernelParameter::of<std::uint64_t>()});
    const auto from = device().array<T>(stream, static_cast<std::int64_t>(x.size()));
    const auto to = device().array<U>(stream, static_cast<std::int64_t>(y.size()));
    from.copy_from(stream, x);
    for (int i = 0; i < 4; ++i) {
      to.copy_from(stream, y);
      kernel.launch(stream, {{blocks}, {threads}}, {from, to, std::uint64_t{x.size()}});
    }
    return to.to_host(stream);
  }

  /// `faulty` is in the names of devices that are known to have the fault.
  void judge(std::string_view faulty, bool right) const {
    const std::string name = device().info().name;
    if (name.find(faulty) == std::string::npos) {
      EXPECT_TRUE(right);
      return;
    }
    std::cout << name << ", driver " << device().info().driver_version << ": "
              << (right ? "the fault is gone; tell it in tests/evidence/vulkan.md\n" : "has the fault\n");
  }

 private:
  std::optional<Device> device_;
};

TEST_F(VulkanFaults, NegationOfTheLeastInteger) {
  std::vector<std::int8_t> x(64);
  std::iota(x.begin(), x.end(), std::int8_t{-128});
  std::vector<std::uint32_t> expected(64, 0);
  expected[0] = 1;  // 0 - -128 is -128
  judge("NVIDIA", run(modules::negation, x, std::vector<std::uint32_t>(64, 7), 1, 64) == expected);
}

TEST_F(VulkanFaults, RoundingToHalves) {
  std::vector<float> x(64), expected(64);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 1 + static_cast<float>(i) / 4096;  // halves from 1 to 2 are multiples of 1/1024
    expected[i] = 1 + std::nearbyint(static_cast<float>(i) / 4) / 1024;
  }
  x[63] = 1e6f, expected[63] = std::numeric_limits<float>::infinity();
  judge("NVIDIA", run(modules::rounded_half, x, std::vector<float>(64), 1, 64) == expected);
}

TEST_F(VulkanFaults, ConditionsAroundSubroutines) {
  const std::vector<double> x(1124, 4);
  std::vector<double> expected(1300, -1);
  std::fill(expected.begin() + 1, expected.begin() + 1118, 2);
  judge("NVIDIA", run(modules::condition, x, std::vector<double>(1300, -1), 5, 256) == expected);
}

TEST_F(VulkanFaults, LongLoops) {
  std::vector<std::uint32_t> x(64, 200'000), expected(64, 0);
  for (int j = 0; j < 200'000; ++j) expected[0] = 3 * expected[0] + 1;
  std::fill(expected.begin(), expected.end(), expected[0]);
  judge("llvmpipe", run(modules::loop, x, std::vector<std::uint32_t>(64), 1, 64) == expected);
}

TEST_F(VulkanFaults, MemoryBarriersThatNoThreadTakes) {
  std::vector<std::uint32_t> x(256, 1);
  std::fill_n(x.begin(), 44, 10);
  judge("llvmpipe", run(modules::barrier, x, std::vector<std::uint32_t>(256, 0), 1, 256) == x);
}

TEST_F(VulkanFaults, SumsWithZero) {
  const std::vector<float> y =
      run(modules::zero, std::vector<float>(64, -0.0f), std::vector<float>(64, 1), 1, 64);
  judge("llvmpipe", std::ranges::none_of(y, [](float sum) { return std::signbit(sum); }));
}

TEST_F(VulkanFaults, WholeNumbersOfF64) {
  std::vector<double> x(64, -0.5);
  x[1] = 33554432.125;
  const std::vector<double> y = run(modules::whole, x, std::vector<double>(64, 1), 1, 64);
  judge("llvmpipe", std::signbit(y[0]) && y[1] == 33554432);
}

TEST_F(VulkanFaults, ComparisonsOfExtendedIntegers) {
  std::vector<std::int32_t> x(64, -5);
  const std::vector<std::int64_t> y = run(modules::extended, x, std::vector<std::int64_t>(128), 1, 64);
  judge("llvmpipe", y[0] == 5 && y[64] == -5);
}

}  // namespace
}  // namespace weir::test
