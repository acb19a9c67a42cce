// SPDX-License-Identifier: Apache-2.0
// Many processes that write, read and remove the same entries at once.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "temporary_store.hpp"

namespace weir::test {
namespace {

constexpr int processes = 64, inputs = 200;

std::string code_of(int i) {
  return std::string(static_cast<std::size_t>(100 + 137 * i), static_cast<char>('a' + i % 26));
}

/// Exit status of one of the processes: 0, or 1 for wrong code.
int use(const fs::path& folder, unsigned seed, std::chrono::steady_clock::time_point until) {
  TemporaryStore store(folder, 1 << 20);
  std::minstd_rand random(seed);
  while (std::chrono::steady_clock::now() < until) {
    const int i = static_cast<int>(random() % inputs);
    const std::string input = "input " + std::to_string(i);
    if (const auto found = store->find(input); found && *found != code_of(i)) return 1;
    store->add(entry(input, code_of(i)));
    if (random() % 500 == 0) cache::clear(folder);
  }
  return store.warnings.empty() ? 0 : 2;
}

// proves R32
TEST(Processes, ShareAFolderWithoutEverReadingWrongCode) {
  const TemporaryFolder folder;
  const fs::path shared = folder.path() / "code";
  const char* const seconds = getenv("WEIR_TEST_SECONDS");
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 3);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(use(shared, i, until));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::uint64_t bytes = 0;
  for (const cache::Listed& listed : cache::list_entries(shared)) {
    EXPECT_TRUE(cache::read_entry(listed.file)) << listed.file;
    bytes += listed.bytes;
  }
  // Each process may have written an entry after the last count.
  EXPECT_LE(bytes, (1u << 20) + processes * code_of(inputs).size());
  for (const fs::directory_entry& file : fs::directory_iterator(shared))
    EXPECT_FALSE(file.path().native().ends_with(TemporaryFile::suffix)) << file.path();
}

}  // namespace
}  // namespace weir::test
