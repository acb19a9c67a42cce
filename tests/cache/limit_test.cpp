// SPDX-License-Identifier: Apache-2.0
// The bound on the cache's bytes, and the count of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <set>

#include "temporary_store.hpp"

namespace weir::test {
namespace {

constexpr std::uint64_t block = 4096;

class Limit : public testing::Test {
 protected:
  static std::string input(int i) { return "input " + std::to_string(i); }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const cache::Listed& listed : cache::list_entries(store.folder)) sum += listed.bytes;
    return sum;
  }
  /// As if entry `i` had been used so many seconds ago.
  void used(int i, int seconds) {
    fs::last_write_time(store.file(input(i)),
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }

  TemporaryFolder folder;
  TemporaryStore store{folder.path() / "code", 20 * block};
  const std::string code = std::string(block / 2, 'x');  // an entry has one block
};

TEST_F(Limit, IsKeptOverManyProcesses) {
  for (int i = 0; i < 200; ++i) {
    store.restart(20 * block);
    store->add(entry(input(i), code));
    EXPECT_TRUE(store->find(input(i)) == code) << "the newest entry stays";
    EXPECT_LE(cache::list_entries(store.folder).size(), 20u);
  }
  EXPECT_GE(cache::list_entries(store.folder).size(), 17u);
  EXPECT_GE(cache::read_statistics(store.folder).evictions, 180u);
}

TEST_F(Limit, TheLeastRecentlyUsedGoFirst) {
  for (int i = 0; i < 20; ++i) {
    store->add(entry(input(i), code));
    used(i, 1000 - i);
  }
  EXPECT_TRUE(store->find(input(0)) == code) << "which makes it the last one used";
  store->add(entry(input(20), code));
  EXPECT_TRUE(fs::exists(store.file(input(0))));
  EXPECT_FALSE(fs::exists(store.file(input(1))));
  EXPECT_FALSE(fs::exists(store.file(input(2))));
  EXPECT_TRUE(fs::exists(store.file(input(19))));
}

// proves R32
TEST_F(Limit, EntriesFromBeforeTheClockWasSetBackGoFirst) {
  for (int i = 0; i < 20; ++i) {
    store->add(entry(input(i), code));
    used(i, i % 2 ? 1000 : -365 * 24 * 3600);
  }
  store->add(entry(input(20), code));
  EXPECT_TRUE(fs::exists(store.file(input(20)))) << "which an unchanged clock would call the oldest";
  for (int i = 1; i < 20; i += 2) EXPECT_TRUE(fs::exists(store.file(input(i)))) << i;
}

TEST_F(Limit, HoldsWhenTheUsageFileIsDamagedOrAbsent) {
  for (int i = 0; i < 15; ++i) store->add(entry(input(i), code));
  write_bytes(store.folder / cache::usage_name, std::string(1'000'000, 'x'));
  store->add(entry(input(15), code));
  EXPECT_EQ(cache::list_entries(store.folder).size(), 16u) << "the folder was counted, nothing removed";
  EXPECT_EQ(fs::file_size(store.folder / cache::usage_name), 16u);
  fs::remove(store.folder / cache::usage_name);
  fs::create_directory(store.folder / cache::usage_name);
  for (int i = 16; i < 40; ++i) store->add(entry(input(i), code));
  EXPECT_LE(bytes(), 20 * block);
}

TEST_F(Limit, NoProcessWaitsForOneThatRemovesEntriesOrWritesCounts) {
  store->add(entry(input(0), code));
  EXPECT_TRUE(store->find(input(0)) == code);
  for (const char* name : {cache::usage_name, cache::statistics_name}) {
    const int held = open((store.folder / name).c_str(), O_RDWR);
    ASSERT_EQ(flock(held, LOCK_EX), 0);
    for (int i = 0; i < 30; ++i) store->add(entry(input(i), code));
    EXPECT_TRUE(store->find(input(29)) == code);
    close(held);
  }
}

TEST_F(Limit, AnEntryAboveItIsNotKept) {
  store->add(entry("big", std::string(21 * block, 'x')));
  EXPECT_EQ(store->find("big"), std::nullopt);
}

TEST_F(Limit, LeftTemporaryFilesAreRemoved) {
  store->add(entry(input(0), code));
  const fs::path left = store.file("left").string() + ".1-2.tmp";
  const fs::path used_now = store.file("new").string() + ".1-2.tmp";
  write_bytes(left, "x");
  write_bytes(used_now, "x");
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache::evict(store.folder, 20 * block, "");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used_now));
}

TEST_F(Limit, HitsMissesAndSavedTimeAreCountedOverProcesses) {
  EXPECT_EQ(store->find(input(0)), std::nullopt);
  store->add(entry(input(0), code, 0.25));
  for (int i = 0; i < 3; ++i) {
    store.restart(20 * block);
    EXPECT_TRUE(store->find(input(0)) == code);
  }
  store.store.reset();
  const cache::Statistics counts = cache::read_statistics(store.folder);
  EXPECT_EQ(counts.hits, 3u);
  EXPECT_EQ(counts.misses, 1u);
  EXPECT_EQ(counts.saved_microseconds, 750'000u);
  write_bytes(store.folder / cache::statistics_name, "damaged statistics of another program");
  EXPECT_EQ(cache::read_statistics(store.folder).hits, 0u);
}

// A write costs as much as a look-up. A process that is killed does not write the rest.
TEST_F(Limit, CountsAreWrittenInTimeButNotByEachLookUp) {
  store->add(entry(input(0), code, 0.25));
  std::set<std::uint64_t> written;
  for (std::uint64_t hits = 1; hits <= 2000; ++hits) {
    ASSERT_TRUE(store->find(input(0)) == code);
    const std::uint64_t counted = cache::read_statistics(store.folder).hits;
    EXPECT_LE(counted, hits);
    EXPECT_GE(counted, hits - hits / 16);
    written.insert(counted);
  }
  EXPECT_LT(written.size(), 300u);
  store.store.reset();
  EXPECT_EQ(cache::read_statistics(store.folder).hits, 2000u);
}

TEST_F(Limit, ClearRemovesTheFilesOfTheCacheAndNoOthers) {
  for (int i = 0; i < 5; ++i) store->add(entry(input(i), code));
  for (const char* name : {"notes.txt", "notes.tmp", "usage"}) write_bytes(store.folder / name, "mine");
  EXPECT_EQ(cache::clear(store.folder), 5u);
  EXPECT_EQ(store->find(input(0)), std::nullopt);
  for (const char* name : {"notes.txt", "notes.tmp", "usage"})
    EXPECT_EQ(bytes_of(store.folder / name), "mine");
  EXPECT_FALSE(fs::exists(store.folder / cache::usage_name));
}

}  // namespace
}  // namespace weir::test
