// SPDX-License-Identifier: Apache-2.0
// Which folder the environment names, and who uses no cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_store.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using compilation::CachePolicy;
using compilation::make_cache_policy;
using testing::AllOf;
using testing::HasSubstr;

TEST(CachePolicy, TheFolderIsThatOfTheVariableElseOfTheUser) {
  EXPECT_EQ(make_cache_policy({"/big/cache/", "", "/xdg", "/home/me"}).folder, "/big/cache");
  EXPECT_EQ(make_cache_policy({"here", "", "/xdg", "/home/me"}).folder, fs::current_path() / "here");
  EXPECT_EQ(make_cache_policy({"", "", "/xdg", "/home/me"}).folder, "/xdg/weir/code");
  EXPECT_EQ(make_cache_policy({"", "", "relative", "/home/me"}).folder, "/home/me/.cache/weir/code");
  EXPECT_EQ(make_cache_policy({"", "", "", "/home/me"}).folder, "/home/me/.cache/weir/code");
  EXPECT_TRUE(make_cache_policy({"/big", "", "", ""}).named);
  EXPECT_FALSE(make_cache_policy({"", "", "/xdg", ""}).named);
}

TEST(CachePolicy, ProcessesWithRaisedRightsAndThoseWithoutAFolderUseNone) {
  const CachePolicy raised = make_cache_policy({"/big/cache", "", "/xdg", "/home/me", true});
  EXPECT_TRUE(raised.folder.empty());
  EXPECT_EQ(raised.why_off, "this process has rights that its caller lacks");
  EXPECT_EQ(make_cache_policy({"off", "", "/xdg", "/home/me"}).why_off, "WEIR_CACHE is off");
  for (const char* word : {"OFF", "Off"}) try {
      make_cache_policy({word, "", "/xdg", "/home/me"});
      ADD_FAILURE() << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      EXPECT_THAT(error.what(), testing::HasSubstr("expected off, or a folder"));
    }
  EXPECT_THAT(make_cache_policy({"", "", "", ""}).why_off, HasSubstr("nor HOME names a folder"));
}

TEST(CachePolicy, TheLimitIsANumberOfBytes) {
  EXPECT_EQ(make_cache_policy({"", "", "/xdg", ""}).limit, std::uint64_t{1} << 30);
  EXPECT_EQ(make_cache_policy({"", "4096", "/xdg", ""}).limit, 4096u);
  EXPECT_EQ(make_cache_policy({"", "256M", "/xdg", ""}).limit, std::uint64_t{256} << 20);
  EXPECT_THAT(thrown_by([] {
                make_cache_policy({"", "much", "/xdg", ""});
              }).what(),
              AllOf(HasSubstr("WEIR_CACHE_BYTES is 'much'"), HasSubstr("expected")));
}

TEST(CachePolicy, ReportsWhyAFolderIsNotUsed) {
  const TemporaryFolder folder;
  CachePolicy policy;
  policy.folder = folder.path() / "a/b/c";
  EXPECT_EQ(compilation::why_cache_unusable(policy), "");
  policy.folder = folder.path() / "1/2/3/4";
  EXPECT_THAT(compilation::why_cache_unusable(policy),
              AllOf(HasSubstr("does not exist"), HasSubstr("WEIR_CACHE=off")));
  policy.folder = folder.path() / "a/b/c";
  fs::permissions(folder.path() / "a/b", fs::perms(0777));
  EXPECT_THAT(compilation::why_cache_unusable(policy), HasSubstr("may be written by every user (mode 0777)"));
  fs::permissions(folder.path() / "a/b", fs::perms(0700));
  write_bytes(folder.path() / "file", "x");
  policy.folder = folder.path() / "file";
  EXPECT_NE(compilation::why_cache_unusable(policy), "");
}

}  // namespace
}  // namespace weir::test
