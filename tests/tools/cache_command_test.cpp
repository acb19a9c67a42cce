// SPDX-License-Identifier: Apache-2.0
// `weir cache`, and programs that share a cache, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <weir/files.hpp>

#include "temporary_folder.hpp"
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
  void SetUp() override { std::ofstream(folder / "twice.weir") << twice_text; }

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

  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};

TEST_F(CacheCommand, TheSecondProcessFindsTheCodeOfTheFirst) {
  run_kernel();
  EXPECT_THAT(weir({"cache", "info"}).out, AllOf(HasSubstr("in use     yes\n"), HasSubstr("entries    1\n"),
                                                 HasSubstr("hits       0\n"), HasSubstr("misses     1\n")));
  run_kernel();
  EXPECT_THAT(weir({"cache", "info"}).out, AllOf(HasSubstr("entries    1\n"), HasSubstr("hits       1\n")));
  // Moved in its file, with a parameter renamed.
  std::string moved = std::string("weir-ir 1\n\n// moved\n") + (twice_text + std::strlen("weir-ir 1\n"));
  for (std::size_t at; (at = moved.find("@x")) != moved.npos;) moved.replace(at, 2, "@moved");
  std::ofstream(folder / "twice.weir") << moved;
  const ProgramResult result =
      weir({"run", (folder / "twice.weir").string(), "--device", "cpu", "--arg", "moved=zeros:1000"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(weir({"cache", "info"}).out, AllOf(HasSubstr("entries    1\n"), HasSubstr("hits       2\n")));
  EXPECT_THAT(weir({"cache", "list"}).out,
              AllOf(HasSubstr(" ms  twice for elf-x86_64:"), HasSubstr(" KiB ")));
}

// The dynamic linker lists the libraries that a process opens.
TEST_F(CacheCommand, ASecondProcessDoesNotOpenTheCodeGenerator) {
  const auto opens_generator = [&](const char* list) {
    const ProgramResult result = run_program(
        {tool(), "run", (folder / "twice.weir").string(), "--device", "cpu", "--arg", "x=zeros:1000"},
        {"WEIR_CACHE=" + (folder / "cache").string(), "WEIR_CODEGEN=in-process", "LD_DEBUG=files",
         "LD_DEBUG_OUTPUT=" + (folder / list).string()});
    EXPECT_EQ(result.status, 0) << result.err;
    std::string libraries;
    for (const fs::directory_entry& file : fs::directory_iterator(folder))
      if (file.path().filename().string().starts_with(list)) {
        std::ifstream in(file.path());
        libraries.append(std::istreambuf_iterator<char>(in), {});
      }
    EXPECT_THAT(libraries, HasSubstr("libweir-cpu.so"));
    return libraries.find("libweir-codegen") != libraries.npos;
  };
  EXPECT_TRUE(opens_generator("cold"));
  EXPECT_FALSE(opens_generator("warm"));
}

TEST_F(CacheCommand, LongLoopsAreEntriesOfTheirOwnWithTheResultsOfOneKernel) {
  // Each loop adds 100 ones to x. The third one is the first one again.
  std::string text =
      "weir-ir 1\nkernel \"loops\" no_fusion\n  param @x : array<f32, 1>\n{\n  %zero = const 0 : i64\n"
      "  %n = extent @x, 0 : i64\n  %one = const 1 : f32\n  %three = const 3 : f32\n";
  for (const std::string loop : {"a", "b", "c"}) {
    text += "  parallel (%i" + loop + ") in (%zero to %n) {\n    %" + loop + "0 = load @x[%i" + loop +
            "] : f32\n";
    for (int i = 1; i <= 100; ++i)
      text += "    %" + loop + std::to_string(i) + " = add %" + loop + std::to_string(i - 1) +
              (loop == "b" ? ", %three" : ", %one") + " : f32\n";
    text += "    store @x[%i" + loop + "], %" + loop + "100\n  }\n";
  }
  std::ofstream(folder / "loops.weir") << text << "}\n";
  for (int run = 0; run < 2; ++run) {
    const std::string out = (folder / "x.npy").string();
    const ProgramResult result = weir({"run", (folder / "loops.weir").string(), "--device", "cpu", "--arg",
                                       "x=zeros:1000", "--out", "x=" + out});
    ASSERT_EQ(result.status, 0) << result.err;
    const HostArray array = read_npy(out);
    ASSERT_EQ(array.data.size(), 1000 * sizeof(float));
    for (std::size_t i = 0; i < 1000; ++i) {
      float value = 0;
      std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
      ASSERT_EQ(value, 500.0f) << i;
    }
    // Two processes or threads may generate the code of equal loops at once.
    EXPECT_EQ(entries().size(), 2u);
  }
  EXPECT_THAT(weir({"cache", "verify"}).out, HasSubstr("2 entries are sound"));
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

TEST_F(CacheCommand, WarmGeneratesTheCodeThatLaunchesFind) {
  const ProgramResult result = weir({"cache", "warm", "--device", "cpu", (folder / "twice.weir").string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "twice is ready for cpu:0\n");
  EXPECT_EQ(entries().size(), 1u);
  run_kernel();
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_THAT(weir({"cache", "info"}).out, HasSubstr("hits       1\n"));
  EXPECT_EQ(weir({"cache", "warm", (folder / "twice.weir").string()}, "off").status, 1);
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

TEST_F(CacheCommand, AFileInPlaceOfTheFolderIsNamed) {
  const std::string file = (folder / "file").string();
  std::ofstream(file) << "text";
  EXPECT_THAT(weir({"cache", "info"}, file).out,
              HasSubstr("no: " + file + " is not a folder; name one in WEIR_CACHE"));
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
