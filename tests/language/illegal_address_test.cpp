// SPDX-License-Identifier: Apache-2.0
// A kernel that writes to unmapped memory. Its device is lost permanently, so each test runs in a separate
// process.
#include "run_apart.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(IllegalAddress, DISABLED_TakesTheDevice) {
  const Kernel astray{"astray", [](View<float> x, Index far) {
                        range_for(x.size(), [&](Index i) { x[i + far] = x[i] + 1.0f; });
                      }};
  const unsigned line = __LINE__ - 2;
  // Offsets of 4 TiB and 4 GiB; the latter remains after truncation to 32 bits.
  const std::int64_t nowhere = 0, far = (std::int64_t{1} << 40) + (std::int64_t{1} << 30);
  Stream stream = tested().create_stream();
  auto x = tested().array<float>(stream, 1000);
  x.fill(stream, 1.0f);
  astray(stream, x, nowhere);
  stream.synchronize();

  const Error first = thrown_by([&] {
    astray(stream, x, far);
    stream.synchronize();
  });
  EXPECT_EQ(first.code(), ErrorCode::illegal_address) << first.what();
  EXPECT_EQ(first.vendor_code(), 700);
  EXPECT_THAT(
      first.vendor_name(),
      testing::EndsWith(first.vendor_name().starts_with("CUDA") ? "_ILLEGAL_ADDRESS" : "IllegalAddress"));
  EXPECT_EQ(first.kernel(), "astray");
  EXPECT_THAT(first.file(), HasSubstr("illegal_address_test.cpp"));
  EXPECT_EQ(first.line(), line);
  EXPECT_THAT(first.what(), HasSubstr("illegal_address_test.cpp:" + std::to_string(line)));

  const auto expect_the_same = [&](const Error& later) {
    EXPECT_EQ(later.code(), ErrorCode::device_lost);
    EXPECT_EQ(later.vendor_code(), first.vendor_code());
    EXPECT_EQ(later.vendor_name(), first.vendor_name());
    EXPECT_EQ(later.kernel(), first.kernel());
    EXPECT_EQ(later.file(), first.file());
    EXPECT_EQ(later.line(), first.line());
    EXPECT_THAT(later.what(), AllOf(HasSubstr(tested().name()), HasSubstr(first.what())));
  };
  expect_the_same(thrown_by([&] { (void)x.to_host(stream); }));
  expect_the_same(thrown_by([&] { astray(stream, x, nowhere); }));
  expect_the_same(thrown_by([&] { tested().synchronize(); }));

  const Device cpu = open("cpu");
  auto y = cpu.array<float>(3);
  y.fill(4.0f);
  astray(y, nowhere);
  EXPECT_THAT(y.to_host(), testing::Each(5.0f));
}

// proves R34
TEST(IllegalAddress, TakesTheDeviceWithTheSameErrorFromThenOnAndLeavesTheCpu) {
  if (tested().info().kind == DeviceKind::cpu) GTEST_SKIP() << "on a CPU such an address ends the process";
  if (tested().driver() == "vulkan")
    GTEST_SKIP() << "Vulkan reports no illegal addresses (tests/evidence/vulkan.md)";
  WEIR_NEEDS_SHELL();
  const std::string out = run_apart("", "IllegalAddress.DISABLED_TakesTheDevice");
  if (out.find("Memory access fault by GPU") != out.npos)
    GTEST_SKIP() << "this version of HIP ends the process";
  EXPECT_THAT(out, HasSubstr("[  PASSED  ] 1 test")) << out;
}

}  // namespace
}  // namespace weir::test
