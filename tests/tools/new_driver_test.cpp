// SPDX-License-Identifier: Apache-2.0
// `weir new-driver` as a user runs it; tests/install builds the files that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "driver/driver_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class NewDriver : public testing::TestWithParam<const char*> {};

TEST_P(NewDriver, WritesAProjectWithTheNameEverywhere) {
  const DriverFolder folder;
  const fs::path out = folder.path() / "project";
  const ProgramResult result =
      run_program({tool(), "new-driver", "acme-2", "--out", out.string(), "--language", GetParam()});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr((out / "CMakeLists.txt").string()));
  const std::string last = result.out.substr(result.out.rfind(' ') + 1);
  EXPECT_TRUE(fs::is_regular_file(last.substr(0, last.find('\n'))))
      << "the documents are named last: " << last;
  EXPECT_THAT(text_of(out / "CMakeLists.txt"), HasSubstr("weir_add_driver(acme-2 "));
  EXPECT_THAT(text_of(out / "CMakeLists.txt"), HasSubstr("weir_add_conformance_test(acme-2 LEVEL "));
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out)) {
    EXPECT_THAT(text_of(entry.path()), Not(HasSubstr("@NAME@"))) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

INSTANTIATE_TEST_SUITE_P(Languages, NewDriver, testing::Values("c++", "c", "rust"), [](const auto& test) {
  return std::string(test.param).substr(0, 1) + std::to_string(test.index);
});

// proves R35
TEST(NewDriverCommand, RefusesNamesThatNoDriverMayHave) {
  const DriverFolder folder;
  for (const char* name :
       {"", "Acme", "-x", "a b", "a/b", "../x", "ä", "aaaaaaaaaabbbbbbbbbbccccccccccddd"}) {
    const ProgramResult result =
        run_program({tool(), "new-driver", "--out", (folder.path() / "out").string(), "--", name});
    EXPECT_EQ(result.status, 2) << name;
    EXPECT_THAT(result.err, HasSubstr("cannot be a driver's name; expected at most 32 lower case letters"));
    EXPECT_FALSE(fs::exists(folder.path() / "out"));
  }
}

// proves R35
TEST(NewDriverCommand, RefusesTheNamesOfWeirsOwnPackages) {
  const DriverFolder folder;
  std::vector<std::string> names{"sdk", "amdgpu", "cpu", "cuda", "vulkan"};
  for (const fs::directory_entry& entry : fs::directory_iterator(built("lib/weir/drivers")))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  for (const std::string& name : names) {
    const ProgramResult result =
        run_program({tool(), "new-driver", name, "--out", (folder.path() / "out").string()});
    EXPECT_EQ(result.status, 2) << name;
    EXPECT_THAT(result.err, HasSubstr("the package weir-driver-" + name + " is Weir's own; choose another"));
    EXPECT_FALSE(fs::exists(folder.path() / "out"));
  }
}

// proves R35
TEST(NewDriverCommand, SaysWhyAFolderCannotBeMade) {
  const DriverFolder folder;
  const fs::path dangling = folder.path() / "dangling", file = folder.write("file", "");
  fs::create_directory_symlink("nowhere", dangling);
  const std::pair<fs::path, std::string> cases[] = {
      {dangling,
       dangling.string() + " is a symbolic link to nowhere, which does not exist; create that folder"},
      {dangling / "out", (dangling / "out").string() + ": cannot create the folder: "},
      {file / "out",
       (file / "out").string() + ": cannot create the folder: Not a directory; choose another"}};
  for (const auto& [out, words] : cases) {
    const ProgramResult result = run_program({tool(), "new-driver", "acme", "--out", out.string()});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_THAT(result.err, Not(HasSubstr("filesystem error")));
  }
}

TEST(NewDriverCommand, OverwritesNothing) {
  const DriverFolder folder;
  const fs::path kept = folder.write("driver.cpp", "mine");
  const ProgramResult result = run_program({tool(), "new-driver", "acme", "--out", folder.path().string()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("exists and is not an empty folder"));
  EXPECT_EQ(text_of(kept), "mine");
}

TEST(NewDriverCommand, SaysWhichPackageHasTheTemplates) {
  const DriverFolder folder;
  fs::create_directory(folder.path() / "bin");
  fs::copy_file(tool(), folder.path() / "bin/weir");
  const ProgramResult result = run_program(
      {(folder.path() / "bin/weir").string(), "new-driver", "acme", "--out", (folder.path() / "x").string()},
      {"LD_LIBRARY_PATH=" + built("lib").string()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("install Weir's driver SDK (weir-driver-sdk)"));
}

TEST(NewDriverCommand, RefusesOtherLanguages) {
  const ProgramResult result = run_program({tool(), "new-driver", "acme", "--language", "cobol"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("cobol"));
}

}  // namespace
}  // namespace weir::test
