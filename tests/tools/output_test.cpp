// SPDX-License-Identifier: Apache-2.0
// Results that cannot be written are failures: standard output on a full disk, closed, or without a reader,
// and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "driver/driver_folder.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// `words` follow the program's path in a shell.
ProgramResult in_shell(const std::string& program, const std::string& words) {
  return run_program({"/bin/sh", "-c", built("bin/" + program).string() + " " + words},
                     {"WEIR_DEVICE=cpu", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME=/nonexistent"});
}

const std::string saxpy = source("tests/ir/kernels/saxpy.weir");
const std::string run_saxpy = "run " + saxpy + " --arg x=zeros:10 --arg y=zeros:10 --arg a=2";

struct Command {
  const char* name;
  std::string program, words;
};
void PrintTo(const Command& command, std::ostream* out) {
  *out << command.name;
}

class StandardOutput : public testing::TestWithParam<Command> {
 protected:
  static ProgramResult run(const std::string& redirection) {
    return in_shell(GetParam().program, GetParam().words + " " + redirection);
  }
};

TEST_P(StandardOutput, IsWrittenWhereThereIsSpace) {
  const ProgramResult result = run("");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out, "");
}

TEST_P(StandardOutput, OfAFullDiskIsAFailure) {
  const ProgramResult result = run("> /dev/full");
  EXPECT_NE(result.status, 0);
  EXPECT_LT(result.status, 128);
  EXPECT_THAT(result.err, HasSubstr(GetParam().program +
                                    ": standard output could not be written: No space left on device"));
}

TEST_P(StandardOutput, ThatIsClosedIsAFailure) {
  const ProgramResult result = run(">&-");
  EXPECT_NE(result.status, 0);
  EXPECT_LT(result.status, 128);
  EXPECT_THAT(result.err, HasSubstr("standard output could not be written"));
}

// Descriptors 0 and 2 are free as well, so a file or a socket could get them.
TEST_P(StandardOutput, IsCompleteWithoutTheOtherStreams) {
  const ProgramResult result = run("<&- 2>&-");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out, "");
}

TEST_P(StandardOutput, WithoutAReaderIsAFailure) {
  // The shell and its children ignore SIGPIPE. The reader exits at once.
  const ProgramResult result =
      run_program({"/bin/sh", "-c",
                   "trap '' PIPE; { sleep 0.3; " + built("bin/" + GetParam().program).string() + " " +
                       GetParam().words + "; echo \"status $?\" >&2; } | true"},
                  {"WEIR_DEVICE=cpu", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME=/nonexistent"});
  EXPECT_THAT(result.err, HasSubstr("standard output could not be written: Broken pipe"));
  EXPECT_THAT(result.err, HasSubstr("status 1"));
}

INSTANTIATE_TEST_SUITE_P(
    All, StandardOutput,
    testing::Values(Command{"Info", "weir", "info"}, Command{"InfoJson", "weir", "info --json"},
                    Command{"Help", "weir", "--help"}, Command{"NoWords", "weir", ""},
                    Command{"Version", "weir", "--version"}, Command{"HelpOfInfo", "weir", "info --help"},
                    Command{"CompileText", "weir", "compile " + saxpy + " --emit ir"},
                    Command{"CompileObject", "weir", "compile " + saxpy + " -o -"},
                    Command{"CompileExplain", "weir", "compile " + saxpy + " --emit ir --explain"},
                    Command{"Run", "weir", run_saxpy}, Command{"River", "weir", "demo river --help"},
                    Command{"Demos", "weir", "demo --list"}, Command{"CacheInfo", "weir", "cache info"},
                    Command{"Page", "weir", "help errors"}, Command{"Completion", "weir", "completion bash"},
                    Command{"NewDriver", "weir", "new-driver --help"},
                    Command{"DriverWatch", "weir", "driver watch --help"},
                    Command{"Pack", "weir", "pack --help"}
#ifdef WEIR_HAS_CONFORMANCE
                    ,
                    Command{"ConformanceList", "weir-conformance", "--list"},
                    Command{"ConformanceVersion", "weir-conformance", "--version"},
                    Command{"Conformance", "weir-conformance", "--driver cpu --level 0 --quiet"}
#endif
                    ),
    [](const auto& test) { return std::string(test.param.name); });

struct FileCommand {
  const char* name;
  std::string words;
};
void PrintTo(const FileCommand& command, std::ostream* out) {
  *out << command.name;
}

class OutputFile : public testing::TestWithParam<FileCommand> {};

TEST_P(OutputFile, OnAFullDiskIsAFailure) {
  const ProgramResult result = in_shell("weir", GetParam().words + "/dev/full");
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_THAT(result.err, HasSubstr("/dev/full: cannot write the file: No space left on device"));
}

TEST_P(OutputFile, InAFolderThatIsNotThereIsAFailure) {
  const ProgramResult result = in_shell("weir", GetParam().words + "/nonexistent/file");
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_THAT(result.err, HasSubstr("/nonexistent/file: cannot write the file: No such file or directory"));
}

// The link leads to "pipe:[N]", which is no path. Not /dev/stdout, which a faulty program could replace.
TEST_P(OutputFile, ThatIsAPipeGetsTheBytes) {
  const ProgramResult result = in_shell("weir", GetParam().words + "/proc/self/fd/3 3>&1 >/dev/null | cat");
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out, "");
}

TEST(ArrayFile, WithoutANameIsAFailure) {
  const ProgramResult result = in_shell("weir", run_saxpy + " --out y=");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, Not(HasSubstr("busy")));
}

// Otherwise the signal of the limit ends the program, and the file is taken for a whole one.
TEST_P(OutputFile, BeyondTheLimitOfFileSizesIsAFailure) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "file";
  const ProgramResult result = run_program(
      {"/bin/sh", "-c", "ulimit -f 0; " + built("bin/weir").string() + " " + GetParam().words + file},
      {"WEIR_DEVICE=cpu", "WEIR_CACHE=off", "HOME=/nonexistent"});
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_THAT(result.err, HasSubstr(file + ": cannot write the file: File too large"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

INSTANTIATE_TEST_SUITE_P(All, OutputFile,
                         testing::Values(FileCommand{"Object", "compile " + saxpy + " -o "},
                                         FileCommand{"Text", "compile " + saxpy + " --emit asm -o "},
                                         FileCommand{"Array", run_saxpy + " --out y="}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weir::test
