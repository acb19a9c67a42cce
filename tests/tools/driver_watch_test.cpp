// SPDX-License-Identifier: Apache-2.0
// `weir driver watch` with a library that is replaced while it runs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "driver/driver_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

/// A running `weir driver watch`.
class Watching {
 public:
  explicit Watching(const fs::path& library) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const std::string program = tool(), path = library.string();
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      execl(program.c_str(), "weir", "driver", "watch", path.c_str(), "--level", "0",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() {
    if (child_ > 0) interrupt();
    close(output_);
  }

  /// The output up to and including the first `words`; fails after 30 seconds.
  std::string until(const std::string& words) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      if (const std::size_t found = text_.find(words); found != std::string::npos) {
        const std::string front = text_.substr(0, found + words.size());
        text_.erase(0, found + words.size());
        return front;
      }
      pollfd waiting{output_, POLLIN, 0};
      std::array<char, 4096> buffer;
      if (poll(&waiting, 1, 100) > 0) {
        const ssize_t count = read(output_, buffer.data(), buffer.size());
        if (count <= 0) break;
        text_.append(buffer.data(), static_cast<std::size_t>(count));
      }
      if (std::chrono::steady_clock::now() > limit) break;
    }
    ADD_FAILURE() << "'" << words << "' was not printed, but: " << text_;
    return {};
  }

  /// Sends Ctrl-C's signal and returns the exit status.
  int interrupt() {
    kill(child_, SIGINT);
    int status = 0;
    waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = -1;
  int output_ = -1;
  std::string text_;
};

TEST(DriverWatch, TestsEachVersionOfTheLibraryUntilItIsInterrupted) {
#ifndef WEIR_HAS_CONFORMANCE
  GTEST_SKIP() << "this build has no conformance suite";
#endif
  const DriverFolder folder;
  const fs::path library = folder.path() / "libweir-cpu.so";
  const fs::path good = fs::path(tool()).parent_path().parent_path() / WEIR_TEST_CPU_LIBRARY;
  Watching watching(library);
  watching.until("waiting for");
  // Replaced in one step, as a linker's output is from the watcher's view.
  const auto replace = [&](const fs::path& by) {
    fs::copy_file(by, folder.path() / "next", fs::copy_options::overwrite_existing);
    fs::rename(folder.path() / "next", library);
  };
  replace(good);
  watching.until("levels 0 to 0 pass");
  replace(folder.write("broken", "no library"));
  const std::string failure = watching.until("waiting for");
  EXPECT_THAT(failure, testing::HasSubstr("level 0 fails:\n"));
  EXPECT_EQ(failure.find("failed "), failure.rfind("failed ")) << "more than the first failure: " << failure;
  replace(good);
  watching.until("levels 0 to 0 pass");
  EXPECT_EQ(watching.interrupt(), 0);
}

TEST(DriverWatch, TakesRangesOfLevels) {
  const auto refused = [](const char* levels) {
    const ProgramResult result =
        run_program({tool(), "driver", "watch", "/no/such/folder/driver.so", "--level", levels});
    EXPECT_EQ(result.status, 2) << levels;
    return result.err;
  };
  for (const char* levels : {"0", "8", "2-4", "3-3"})
    EXPECT_THAT(refused(levels), testing::HasSubstr("is in no folder that exists")) << levels;
  for (const char* levels : {"9", "4-2", "0-9", "", "1-", "one"})
    EXPECT_THAT(refused(levels), testing::HasSubstr("expected a level from 0 to 8, or a range such as 2-4"))
        << levels;
}

TEST(DriverWatch, RefusesAPathInNoFolder) {
  const ProgramResult result = run_program({tool(), "driver", "watch", "/no/such/folder/driver.so"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, testing::HasSubstr("is in no folder that exists"));
}

}  // namespace
}  // namespace weir::test
