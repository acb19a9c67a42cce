// SPDX-License-Identifier: Apache-2.0
// `weir cache`, and programs that share a cache, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* twice_text = R"(weir-ir 1
kernel "twice"
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    %sum = add %x, %x : f32
    store @x[%i], %sum
  }
}
)";

class CacheCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weir-tools-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    std::ofstream(folder / "twice.weir") << twice_text;
  }
  void TearDown() override { fs::remove_all(folder); }

  ProgramResult weir(std::vector<std::string> arguments, const std::string& cache = "") const {
    arguments.insert(arguments.begin(), tool());
    return run_program(arguments, {"WEIR_CACHE=" + (cache.empty() ? (folder / "cache").string() : cache)});
  }
  void run_kernel() const {
    const ProgramResult result =
        weir({"run", (folder / "twice.weir").string(), "--device", "cpu", "--arg", "x=zeros:1000"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    for (const fs::directory_entry& file : fs::directory_iterator(folder / "cache"))
      if (file.path().extension() == ".code") found.push_back(file);
    return found;
  }

  fs::path folder;
};

TEST_F(CacheCommand, TheSecondProcessFindsTheCodeOfTheFirst) {
  run_kernel();
  EXPECT_THAT(weir({"cache", "info"}).out, AllOf(HasSubstr("in use     yes\n"), HasSubstr("entries    1\n"),
                                                 HasSubstr("hits       0\n"), HasSubstr("misses     1\n")));
  run_kernel();
  EXPECT_THAT(weir({"cache", "info"}).out, AllOf(HasSubstr("entries    1\n"), HasSubstr("hits       1\n")));
  EXPECT_THAT(weir({"cache", "list"}).out,
              AllOf(HasSubstr(" ms  twice for elf-x86_64:"), HasSubstr(" KiB ")));
}

TEST_F(CacheCommand, VerifyReportsDamagedEntriesWhichAreReplaced) {
  run_kernel();
  EXPECT_EQ(weir({"cache", "verify"}).out, "1 entries are sound, 0 are damaged\n");
  ASSERT_EQ(entries().size(), 1u);
  fs::resize_file(entries()[0], 100);
  const ProgramResult damaged = weir({"cache", "verify"});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.out,
              AllOf(HasSubstr(entries()[0].string() + " is damaged"), HasSubstr("1 are damaged")));
  run_kernel();
  EXPECT_EQ(weir({"cache", "verify"}).status, 0);
}

TEST_F(CacheCommand, ClearRemovesTheEntries) {
  run_kernel();
  EXPECT_THAT(weir({"cache", "clear"}).out, HasSubstr("removed 1 entries from "));
  EXPECT_TRUE(entries().empty());
  run_kernel();
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(CacheCommand, WithoutACacheItSaysWhy) {
  EXPECT_EQ(weir({"cache", "info"}, "off").out, "in use     no: WEIR_CACHE is off\n");
  const ProgramResult result = weir({"cache", "clear"}, "off");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no compile cache: WEIR_CACHE is off"));
}

TEST_F(CacheCommand, InfoOfDriversNamesTheFolder) {
  EXPECT_THAT(weir({"info"}).out,
              HasSubstr("Compile cache\n  " + (folder / "cache").string() + "\n  in use\n"));
  EXPECT_THAT(weir({"info"}, "off").out, HasSubstr("Compile cache\n  not used: WEIR_CACHE is off\n"));
}

// proves R32
TEST_F(CacheCommand, AFolderThatOthersMayWriteCostsOneWarning) {
  fs::create_directory(folder / "cache");
  fs::permissions(folder / "cache", fs::perms(0777));
  const ProgramResult result =
      weir({"run", (folder / "twice.weir").string(), "--device", "cpu", "--arg", "x=zeros:1000"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err,
              testing::ContainsRegex("^weir: the compile cache .* is not used: .* may be written by every "
                                     "user .*; run chmod"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace weir::test
