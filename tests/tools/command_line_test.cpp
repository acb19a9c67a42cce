// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

TEST(CommandLine, VersionIsPrinted) {
  const ProgramResult result = run_program({tool(), "--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "weir " WEIR_VERSION "\n");
}

TEST(CommandLine, HelpListsTheSubcommands) {
  const ProgramResult result = run_program({tool(), "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("info"));
}

TEST(CommandLine, WithoutArgumentsItExplainsItself) {
  const ProgramResult result = run_program({tool()});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("Usage: weir"));
}

struct Misuse {
  const char* name;
  std::vector<std::string> words;
  const char* message;
};
void PrintTo(const Misuse& misuse, std::ostream* out) {
  *out << misuse.name;
}

class Misused : public testing::TestWithParam<Misuse> {};

// proves R35
TEST_P(Misused, EndsWithTwoAndSaysWhy) {
  std::vector<std::string> command{tool()};
  command.insert(command.end(), GetParam().words.begin(), GetParam().words.end());
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, std::string("weir: ") + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, Misused,
    testing::Values(
        Misuse{"UnknownSubcommand",
               {"frobnicate"},
               "there is no subcommand 'frobnicate'; weir has: compile demo info new-driver run"},
        Misuse{"UnknownOption",
               {"info", "--frobnicate"},
               "The following argument was not expected: --frobnicate; --help lists what there is"},
        Misuse{"OptionInsteadOfASubcommand",
               {"--frobnicate"},
               "there is no option '--frobnicate'; weir --help lists them"},
        Misuse{"UnknownDemo", {"demo", "lake"}, "there is no subcommand 'lake'; weir demo has: river"},
        Misuse{"NoDemo", {"demo"}, "weir demo takes a subcommand; there are: river"},
        Misuse{"NoFile", {"run"}, "file is required; --help lists what there is"},
        Misuse{"NotANumber",
               {"demo", "river", "--steps", "many"},
               "Could not convert: --steps = many; --help lists what there is"},
        Misuse{"OutOfRange",
               {"demo", "river", "--steps", "0"},
               "--steps is 0, expected a number from 1 to 10000000"},
        Misuse{"NoOutput",
               {"compile", source("tests/ir/kernels/saxpy.weir")},
               "a code object needs a file; add -o FILE"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CommandLine, HelpOfASubcommandIsPrinted) {
  const ProgramResult result = run_program({tool(), "demo", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("river"));
}

}  // namespace
}  // namespace weir::test
