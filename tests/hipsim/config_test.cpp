// SPDX-License-Identifier: Apache-2.0
#include "runtime/config.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weir::hipsim {
namespace {

std::string problem(const std::string& json) {
  try {
    parse_config(json);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Config, WithoutMembersItIsOneGfx90a) {
  const Config c = parse_config("{}");
  ASSERT_EQ(1u, c.devices.size());
  EXPECT_EQ("gfx90a:sramecc+:xnack-", c.devices[0].target_name());
}

TEST(Config, DevicesTakeWhatTheirArchitectureHas) {
  const Config c = parse_config(
      R"({"hip_version": "7.0.2", "devices": [{"arch": "gfx1100"}, {"arch": "gfx906", "xnack": true}]})");
  EXPECT_EQ(7, c.version_major);
  EXPECT_EQ(32, c.devices[0].wave_size);
  EXPECT_EQ("gfx1100", c.devices[0].target_name());
  EXPECT_EQ("gfx906:sramecc-:xnack+", c.devices[1].target_name());
}

TEST(Config, MistakesAreNamed) {
  EXPECT_EQ("is not JSON", problem("{"));
  EXPECT_EQ("the configuration has an unknown member \"device\"", problem(R"({"device": []})"));
  EXPECT_EQ("a device has an unknown member \"arhc\"", problem(R"({"devices": [{"arhc": "gfx90a"}]})"));
  EXPECT_EQ("\"arch\" is \"sm_90\"; expected a name such as gfx90a or gfx1100",
            problem(R"({"devices": [{"arch": "sm_90"}]})"));
  EXPECT_EQ("LLVM has no architecture \"gfx9999\"", problem(R"({"devices": [{"arch": "gfx9999"}]})"));
  EXPECT_EQ("\"threads\" has the wrong type: \"two\"", problem(R"({"threads": "two"})"));
  EXPECT_EQ("\"races\" is \"loud\"; expected off, report or error", problem(R"({"races": "loud"})"));
}

TEST(Config, FailuresTakeWhenAndHow) {
  const Config c = parse_config(
      R"({"fail": [{"call": "hipMalloc", "error": 2}, {"call": "hipMemcpyAsync", "nth": 3, "error": 700, "late": true}]})");
  ASSERT_EQ(2u, c.failures.size());
  EXPECT_FALSE(c.failures[0].late);
  EXPECT_EQ(1u, c.failures[0].nth);
  EXPECT_TRUE(c.failures[1].late);
  EXPECT_EQ(3u, c.failures[1].nth);
  EXPECT_NE("", problem(R"({"fail": [{"call": "hipMalloc", "error": 2, "when": "late"}]})"));
}

}  // namespace
}  // namespace weir::hipsim
