// SPDX-License-Identifier: Apache-2.0
// The end of a process whose first kernels are in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "run_apart.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

TEST(ProcessEnd, DISABLED_Submits) {
  const Device device = open(tested_device());
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 100'000);
  x.fill(stream, 1.0f);
  const Kernel first{"first",
                     [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = sin(x[i]) + 1.0f; }); }};
  const Kernel second{
      "second", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = exp(x[i]) * cos(x[i]); }); }};
  first(stream, x);
  second(stream, x);
}

TEST(ProcessEnd, MayComeWhileTheFirstKernelsAreInFlight) {
  WEIR_NEEDS_SHELL();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  for (int i = 0; i < 10; ++i)
    ASSERT_THAT(
        output_of(
            "timeout 60 " + program +
            " --gtest_also_run_disabled_tests --gtest_filter=ProcessEnd.DISABLED_Submits; echo status $?"),
        testing::EndsWith("status 0\n"));
}

}  // namespace
}  // namespace weir::test
