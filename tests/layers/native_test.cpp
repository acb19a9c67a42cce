// SPDX-License-Identifier: Apache-2.0
// Failures of the vendor's streams, which the CPU driver does not have, on a simulated AMD GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/api.hpp"

namespace weir::test {
namespace {

const bool layered = setenv("WEIR_AMDGPU_LIBRARY", WEIR_HIPSIM, 1) == 0 && use_layers("validate,fault");

template <class Call>
void expect_failure(const Layer& faults, const char* slot, Call&& call) {
  faults.configure(std::string("call=") + slot);
  try {
    call();
    ADD_FAILURE() << slot << " did not fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string("fault layer: call 1 of ") + slot));
  }
  faults.configure("");
}

// proves R34
TEST(NativeStreams, ThatFailLeaveNothingAndWorkTheNextTime) {
  const Device device = open("amdgpu:0");
  const Stream stream = device.create_stream();
  const Layer checks = layers(device).at(0), faults = layers(device).at(1);
  const std::uint64_t alive = checks.get("live.stream");
  expect_failure(faults, "stream_get_native", [&] { (void)stream.native_handle(); });
  void* const native = stream.native_handle();
  ASSERT_NE(native, nullptr);
  expect_failure(faults, "stream_wrap", [&] { (void)device.wrap_stream(native); });
  EXPECT_EQ(checks.get("live.stream"), alive);
  {
    const Stream wrapped = device.wrap_stream(native);
    auto x = device.array<std::int32_t>(wrapped, 100);
    x.fill(wrapped, 3);
    EXPECT_EQ(x.to_host(wrapped)[99], 3);
  }
  for (const LayerReport& report : Heard::get().take()) ADD_FAILURE() << report.message;
}

}  // namespace
}  // namespace weir::test
