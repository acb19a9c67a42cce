// SPDX-License-Identifier: Apache-2.0
// A lost device stays lost for the process, so this program has one test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "places.hpp"
#include "support/api.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

const bool layered = [] {
  setenv("WEIR_DRIVER_PATH", built("sdk/examples/minimal_driver").c_str(), 1);
  return use_layers("validate,fault");
}();

// proves R34
TEST(LostDevice, SaysSoFromThenOnNamesTheKernelAndOthersGoOn) {
  const Device device = open("cpu"), other = open("minimal");
  Kernel twice{"twice", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2.0f; }); }};
  {
    const Stream stream = device.create_stream(), elsewhere = other.create_stream();
    auto x = device.array<float>(stream, 1000), y = other.array<float>(elsewhere, 1000);
    x.fill(stream, 1.0f);
    y.fill(elsewhere, 1.0f);
    twice(stream, x);
    twice(elsewhere, y);
    const Layer faults = layers(device).at(1);
    faults.configure("call=kernel_launch:result=device_lost");
    const Error error = thrown_by([&] { twice(stream, x); });
    EXPECT_EQ(error.code(), ErrorCode::device_lost);
    EXPECT_EQ(error.kernel(), "twice");
    for (int again = 0; again < 2; ++again) {
      const Error later = thrown_by([&] { (void)x.to_host(stream); });
      EXPECT_EQ(later.code(), ErrorCode::device_lost);
      EXPECT_THAT(later.what(), HasSubstr("cpu:0"));
      EXPECT_EQ(later.kernel(), "twice");
      EXPECT_EQ(later.line(), error.line());
    }
    EXPECT_EQ(thrown_by([&] { device.synchronize(); }).code(), ErrorCode::device_lost);
    EXPECT_EQ(thrown_by([&] { auto z = device.array<float>(10'000'000); }).code(), ErrorCode::device_lost);
    twice(elsewhere, y);
    EXPECT_EQ(y.to_host(elsewhere)[999], 4.0f);
  }
  for (const LayerReport& report : Heard::get().take()) ADD_FAILURE() << report.message;
}

}  // namespace
}  // namespace weir::test
