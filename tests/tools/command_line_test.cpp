// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

TEST(CommandLine, VersionIsPrinted) {
  const ProgramResult result = run_program({WEIR_TOOL, "--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "weir " WEIR_VERSION "\n");
}

TEST(CommandLine, HelpListsTheSubcommands) {
  const ProgramResult result = run_program({WEIR_TOOL, "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("info"));
}

TEST(CommandLine, WithoutArgumentsItExplainsItself) {
  const ProgramResult result = run_program({WEIR_TOOL});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("Usage: weir"));
}

// proves R35
TEST(CommandLine, UnknownSubcommandIsAUsageError) {
  const ProgramResult result = run_program({WEIR_TOOL, "frobnicate"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("frobnicate"));
}

// proves R35
TEST(CommandLine, UnknownOptionIsAUsageError) {
  const ProgramResult result = run_program({WEIR_TOOL, "info", "--frobnicate"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("--frobnicate"));
}

}  // namespace
}  // namespace weir::test
