// SPDX-License-Identifier: Apache-2.0
// The probe policy that the environment selects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/probe/prober.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

ProbeInputs probe_inputs() {
  return {"", "", "/home/ada", "/opt/weir/lib/libweir.so.1", false};
}

TEST(ProbePolicy, HelperIsInTheFolderOfTheDrivers) {
  EXPECT_EQ(make_probe_policy(probe_inputs()).helper, "/opt/weir/lib/weir/weir-probe");
  ProbeInputs from = probe_inputs();
  from.own_library = "/opt/weir/bin/program";
  EXPECT_EQ(make_probe_policy(from).helper, "/opt/weir/" WEIR_LIBDIR "/weir/weir-probe");
}

TEST(ProbePolicy, VerdictsAreKeptInTheUsersCacheFolder) {
  ProbeInputs from = probe_inputs();
  EXPECT_EQ(make_probe_policy(from).verdicts, "/home/ada/.cache/weir/probes");
  from.cache_home = "relative";
  EXPECT_EQ(make_probe_policy(from).verdicts, "/home/ada/.cache/weir/probes");
  from.cache_home = "/var/cache/ada";
  EXPECT_EQ(make_probe_policy(from).verdicts, "/var/cache/ada/weir/probes");
  from.cache_home = from.home = "";
  EXPECT_EQ(make_probe_policy(from).verdicts, "");
}

// proves R35
TEST(ProbePolicy, OfAnElevatedProcessTrustsNothingOfTheCallers) {
  ProbeInputs from = probe_inputs();
  from.weir_probe = "off";
  from.cache_home = "/tmp/callers";
  from.elevated = true;
  const ProbePolicy policy = make_probe_policy(from);
  EXPECT_EQ(policy.verdicts, "");
  EXPECT_EQ(policy.helper, "/opt/weir/lib/weir/weir-probe");
}

TEST(ProbePolicy, OffMeansInThisProcess) {
  ProbeInputs from = probe_inputs();
  from.weir_probe = "off";
  EXPECT_EQ(make_probe_policy(from).helper, "");
  EXPECT_EQ(make_probe_policy(from).why_no_helper, "WEIR_PROBE is off");
}

TEST(ProbePolicy, ANumberIsTheLimitInSeconds) {
  ProbeInputs from = probe_inputs();
  EXPECT_EQ(make_probe_policy(from).limit, std::chrono::seconds(20));
  from.weir_probe = "2.5";
  EXPECT_EQ(make_probe_policy(from).limit, std::chrono::milliseconds(2500));
  from.weir_probe = "2s";
  EXPECT_THAT(
      thrown_by([&] { (void)make_probe_policy(from); }).what(),
      HasSubstr(
          "WEIR_PROBE is '2s'; expected a number of seconds above 0 and at most 3600, as in 2.5, or off"));
}

}  // namespace
}  // namespace weir::test
