// SPDX-License-Identifier: Apache-2.0
// Failures of calls that only the first use of a device makes. A process opens a device once, so this program
// has one test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api.hpp"

namespace weir::test {
namespace {

const bool layered = use_layers("validate,fault:call=device_open:result=system");

// proves R34
TEST(FirstUse, ThatFailsSaysSoLeavesNothingAndTheNextOneWorks) {
  const Device device = open("cpu");
  try {
    (void)device.create_stream();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("fault layer: "));
  }
  const Layer checks = layers(device).at(0);
  EXPECT_EQ(checks.get("live.device"), 0u);
  EXPECT_EQ(checks.get("live.stream"), 0u);
  auto x = device.array<std::int32_t>(100);
  x.fill(3);
  EXPECT_EQ(x.to_host()[99], 3);
  EXPECT_EQ(layers(device).at(1).get("calls.device_open"), 2u);
  EXPECT_EQ(checks.get("live.device"), 1u);
  for (const LayerReport& report : Heard::get().take()) ADD_FAILURE() << report.message;
}

}  // namespace
}  // namespace weir::test
