// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/search_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temporary_folder.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SearchInputs search_inputs() {
  return {"", "", "/home/ada", "/opt/weir/lib/libweir.so.1", false};
}

std::vector<std::string> searched(const SearchInputs& from) {
  std::vector<std::string> paths;
  for (const SearchFolder& folder : make_search_path(from))
    if (folder.ignored.empty()) paths.push_back(folder.path.string());
  return paths;
}

TEST(SearchPath, IsEnvironmentUserInstallSystem) {
  SearchInputs from = search_inputs();
  from.plugin_path = "/b:/a";
  EXPECT_THAT(searched(from), ElementsAre("/b", "/a", "/home/ada/.local/share/weir/drivers",
                                          "/opt/weir/lib/weir/drivers", "/usr/lib/weir/drivers"));
}

TEST(SearchPath, UsesTheUsersDataFolder) {
  SearchInputs from = search_inputs();
  from.data_home = "/data/ada";
  EXPECT_EQ(searched(from)[0], "/data/ada/weir/drivers");
}

TEST(SearchPath, IgnoresARelativeDataFolder) {
  SearchInputs from = search_inputs();
  from.data_home = "data";
  EXPECT_EQ(searched(from)[0], "/home/ada/.local/share/weir/drivers");
}

TEST(SearchPath, ServesProgramsThatHoldTheLibrary) {
  SearchInputs from = search_inputs();
  from.own_library = "/opt/weir/bin/program";
  EXPECT_THAT(searched(from), testing::Contains("/opt/weir/" WEIR_LIBDIR "/weir/drivers"));
  from.own_library = "/opt/weir/lib/weir/weir-probe";
  EXPECT_THAT(searched(from), testing::Contains("/opt/weir/lib/weir/drivers"));
}

TEST(SearchPath, NeverHoldsTheCurrentFolder) {
  SearchInputs from = search_inputs();
  from.plugin_path = ".:::drivers:../drivers:";
  for (const std::string& path : searched(from))
    EXPECT_TRUE(std::filesystem::path(path).is_absolute()) << path;
  EXPECT_EQ(searched(from), searched(search_inputs()));
}

// proves R33
TEST(SearchPath, NeverHoldsTheCurrentFolderByItsNamesInProc) {
  const test::TemporaryFolder links;
  std::filesystem::create_symlink("/proc/self/cwd", links.path() / "one");
  std::filesystem::create_symlink("one", links.path() / "two");
  std::filesystem::create_symlink("loop", links.path() / "loop");
  for (const std::string& path :
       {std::string("/proc/self/cwd"), std::string("/proc/self/cwd/"), std::string("/proc/thread-self/cwd/x"),
        std::string("/usr/../proc/self/root"), (links.path() / "one").string(),
        (links.path() / "two/below").string(), (links.path() / "loop").string()}) {
    SearchInputs from = search_inputs();
    from.plugin_path = path;
    EXPECT_THAT(make_search_path(from).front().ignored, HasSubstr("it leads through /proc")) << path;
    from = search_inputs();
    from.data_home = path;
    EXPECT_THAT(make_search_path(from).front().ignored, HasSubstr("it leads through /proc")) << path;
  }
  EXPECT_FALSE(leads_through_proc(links.path()));
  EXPECT_FALSE(leads_through_proc("/"));
  EXPECT_FALSE(leads_through_proc("/processes/../procession"));
}

TEST(SearchPath, SaysWhyARelativeEntryIsIgnored) {
  SearchInputs from = search_inputs();
  from.plugin_path = "drivers";
  const SearchFolder folder = make_search_path(from).front();
  EXPECT_EQ(folder.path, "drivers");
  EXPECT_THAT(folder.ignored, HasSubstr("it is relative"));
}

TEST(SearchPath, HoldsEachFolderOnce) {
  SearchInputs from = search_inputs();
  from.plugin_path = "/a:/a/:/b/../a:/usr/lib/weir/drivers";
  EXPECT_THAT(searched(from),
              ElementsAre("/a", "/usr/lib/weir/drivers", "/home/ada/.local/share/weir/drivers",
                          "/opt/weir/lib/weir/drivers"));
}

// proves R35
TEST(SearchPath, OfAnElevatedProcessIgnoresTheCallersFolders) {
  SearchInputs from = search_inputs();
  from.plugin_path = "/a";
  from.data_home = "/data/ada";
  from.elevated = true;
  EXPECT_THAT(searched(from), ElementsAre("/opt/weir/lib/weir/drivers", "/usr/lib/weir/drivers"));
  EXPECT_THAT(make_search_path(from).front().ignored, HasSubstr("rights that its caller lacks"));
}

TEST(SearchPath, OfThisProcessIsMadeFromItsEnvironment) {
  ASSERT_EQ(setenv("WEIR_DRIVER_PATH", "/some/where", 1), 0);
  const std::vector<std::filesystem::path> path = driver_search_path();
  unsetenv("WEIR_DRIVER_PATH");
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.front(), "/some/where");
}

}  // namespace
}  // namespace weir::test
