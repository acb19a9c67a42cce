// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

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

TEST(CommandLine, HelpPrintsPagesOfTheDocumentation) {
  const ProgramResult topics = run_program({tool(), "help"});
  EXPECT_EQ(topics.status, 0);
  EXPECT_THAT(topics.out,
              testing::AllOf(HasSubstr(" compile"), HasSubstr(" first-program"), HasSubstr(" environment")));
  const ProgramResult page = run_program({tool(), "help", "environment"});
  EXPECT_EQ(page.status, 0);
  EXPECT_THAT(page.out, testing::StartsWith("# Environment variables\n"));
  EXPECT_THAT(run_program({tool(), "help", "run"}).out, HasSubstr("--arg"));
  const ProgramResult unknown = run_program({tool(), "help", "weather"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.err, "weir: there is no topic 'weather'; weir help lists the topics\n");
  EXPECT_THAT(run_program({tool(), "help", "enviroment"}).err, HasSubstr("; did you mean environment?\n"));
  const ProgramResult both = run_program({tool(), "help", "demo"});
  EXPECT_THAT(both.out, testing::EndsWith("\nweir demo --help lists the options of the subcommand.\n"));
}

TEST(CommandLine, DemonstrationsAreListed) {
  const ProgramResult result = run_program({tool(), "demo", "--list"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, testing::StartsWith("river "));
}

TEST(CommandLine, ManualAndCompletionsNameEverySubcommand) {
  std::ifstream in(test::built("core/tools/weir.1"));
  const std::string manual{std::istreambuf_iterator<char>(in), {}};
  const std::string help = run_program({tool(), "--help"}).out;
  std::istringstream lines(help.substr(help.find("Subcommands:\n") + 13));
  int seen = 0;
  for (std::string name, rest; lines >> name && std::getline(lines, rest); ++seen) {
    EXPECT_THAT(manual, HasSubstr("\"weir " + name + "\"")) << "the manual page lacks a subcommand";
    for (const char* shell : {"bash", "zsh", "fish"})
      EXPECT_THAT(run_program({tool(), "completion", shell}).out, HasSubstr(name)) << shell;
  }
  EXPECT_GE(seen, 7);
}

TEST(CommandLine, BashCompletesSubcommandsAndOptions) {
  const std::string script =
      "source <(" + tool() +
      " completion bash); COMP_WORDS=(weir demo river --st); COMP_CWORD=3; _weir weir --st; "
      "echo \"${COMPREPLY[@]}\"; COMP_WORDS=(weir com); COMP_CWORD=1; _weir weir com; "
      "echo \"${COMPREPLY[@]}\"";
  const ProgramResult result = run_program({"/bin/bash", "-c", script});
  EXPECT_EQ(result.out, "--steps\ncompile completion\n") << result.err;
}

TEST(CommandLine, FishOffersTheOptionsOfInfoOutsideOfCacheOnly) {
  const std::string script = run_program({tool(), "completion", "fish"}).out;
  const std::string seen = "__fish_seen_subcommand_from ";
  EXPECT_THAT(script, HasSubstr("-n '" + seen + "info; and not " + seen + "cache' -l probe-again "));
  EXPECT_THAT(script, HasSubstr("-n '" + seen + "cache; and " + seen + "info' -l "));
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
               "there is no subcommand 'frobnicate'; weir has: cache compile completion demo driver "
               "help info new-driver pack run"},
        Misuse{"UnknownOption",
               {"info", "--frobnicate"},
               "The following argument was not expected: --frobnicate; --help lists the arguments"},
        Misuse{"OptionInsteadOfASubcommand",
               {"--frobnicate"},
               "there is no option '--frobnicate'; weir --help lists them"},
        Misuse{"UnknownDemo", {"demo", "lake"}, "there is no subcommand 'lake'; weir demo has: river"},
        Misuse{
            "NoDemo", {"demo"}, "weir demo takes the name of a demonstration; weir demo --list lists them"},
        Misuse{"NoFile", {"run"}, "file is required; --help lists the arguments"},
        Misuse{"NotANumber",
               {"demo", "river", "--steps", "many"},
               "Could not convert: --steps = many; --help lists the arguments"},
        Misuse{"OutOfRange",
               {"demo", "river", "--steps", "0"},
               "--steps is 0, expected a number from 1 to 10000000"},
        Misuse{"NoOutput",
               {"compile", source("tests/ir/kernels/saxpy.weir")},
               "a code object needs a file; add -o FILE"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CommandLine, HelpTakesASubcommandOfASubcommand) {
  const ProgramResult result = run_program({tool(), "help", "driver", "watch"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("--level"));
  const ProgramResult wrong = run_program({tool(), "help", "driver", "wash"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("there is no topic 'driver wash'"));
}

TEST(CommandLine, HelpPrintsTheSameAsTheOption) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"cache"}, {"cache", "warm"}}) {
    std::vector<std::string> help{tool(), "help"}, option{tool()};
    help.insert(help.end(), words.begin(), words.end());
    option.insert(option.end(), words.begin(), words.end());
    option.push_back("--help");
    const ProgramResult result = run_program(help);
    EXPECT_THAT(result.out, HasSubstr("Usage: weir " + words.front()));
    EXPECT_EQ(result.out, run_program(option).out);
  }
}

TEST(CommandLine, HelpOfASubcommandIsPrinted) {
  const ProgramResult result = run_program({tool(), "demo", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("river"));
}

}  // namespace
}  // namespace weir::test
