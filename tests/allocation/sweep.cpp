// SPDX-License-Identifier: Apache-2.0
// allocation_sweep ALLOCATOR PROGRAM NAME: runs `PROGRAM NAME` with its first, second, ... allocation
// failing, see failing_allocator.cpp. By default a sample; every one with WEIR_SWEEP=all, in WEIR_SWEEP_JOBS
// processes at a time.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "on_threads.hpp"

namespace {

constexpr unsigned max_seconds = 120;
constexpr std::uint64_t sampled = 60;

struct Ended {
  int status = 0;
  std::uint64_t allocations = 0;
  std::string printed;
};

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t length; (length = read(from, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(length));
  close(from);
  return text;
}

Ended run(char** arguments, std::uint64_t fails_at) {
  static std::mutex mutex;  // a child must not inherit the pipes of another
  std::array<int, 2> output{}, counted{};
  const std::string at = "WEIR_FAIL_ALLOCATION=" + std::to_string(fails_at);
  const std::string preload = std::string("LD_PRELOAD=") + arguments[1];
  std::array<char*, 3> command{arguments[2], arguments[3], nullptr};
  pid_t child = 0;
  {
    const std::lock_guard lock(mutex);
    if (pipe2(output.data(), O_CLOEXEC) != 0 || pipe2(counted.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe failed");
    std::vector<char*> environment{const_cast<char*>(at.c_str()), const_cast<char*>(preload.c_str()),
                                   const_cast<char*>("WEIR_ALLOCATION_COUNT=9"),
                                   const_cast<char*>("WEIR_TEST_PATIENCE=2")};
    for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
    environment.push_back(nullptr);
    child = fork();
    if (child == 0) {  // only calls that a signal handler may make
      dup2(output[1], STDOUT_FILENO);
      dup2(output[1], STDERR_FILENO);
      dup2(counted[1], 9);
      alarm(max_seconds);
      execve(command[0], command.data(), environment.data());
      _exit(127);
    }
    close(output[1]);
    close(counted[1]);
  }
  Ended ended;
  ended.printed = read_all(output[0]);
  const std::string count = read_all(counted[0]);
  if (count.size() == sizeof ended.allocations) std::memcpy(&ended.allocations, count.data(), count.size());
  waitpid(child, &ended.status, 0);
  return ended;
}

std::string complaint(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "it did not end";
  if (WIFSIGNALED(status)) return "it ended by signal " + std::to_string(WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case 0:
      return "";
    case 3:
      return "the error is not that host memory ran out";
    case 4:
      return "the exception is no weir::Error";
    case 5:
      return "it does not work again after the failure";
    case 6:
      return "a result is wrong";
    default:
      return "it ended with " + std::to_string(WEXITSTATUS(status));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const char* const sweep = std::getenv("WEIR_SWEEP");
  const char* const jobs = std::getenv("WEIR_SWEEP_JOBS");
  const bool all = sweep && std::strcmp(sweep, "all") == 0;
  const Ended plain = run(arguments, 0);
  if (plain.status != 0 || plain.allocations == 0) {
    std::fprintf(stderr, "%s does not pass when nothing fails, or allocates nothing:\n%s\n", arguments[3],
                 plain.printed.c_str());
    return 2;
  }
  // The first time has most of them; threads make the number vary.
  const std::uint64_t last = plain.allocations;
  const std::uint64_t step = all ? 1 : std::max<std::uint64_t>(1, last / sampled);
  std::atomic<std::uint64_t> next{1};
  std::atomic<std::uint64_t> tried{0}, wrong{0};
  std::mutex output;
  weir::test::on_threads(jobs ? std::max(1, std::atoi(jobs)) : 2, [&](int) {
    for (std::uint64_t n; (n = next.fetch_add(step)) <= last;) {
      const Ended ended = run(arguments, n);
      ++tried;
      const std::string what = complaint(ended.status);
      if (what.empty()) continue;
      ++wrong;
      const std::lock_guard lock(output);
      std::printf("WEIR_FAIL_TRACE=1 WEIR_FAIL_ALLOCATION=%llu LD_PRELOAD=%s %s %s: %s\n%s\n",
                  static_cast<unsigned long long>(n), arguments[1], arguments[2], arguments[3], what.c_str(),
                  ended.printed.c_str());
      std::fflush(stdout);
    }
  });
  std::printf("%s: %llu allocations, %llu of them failed one at a time, %llu times something was wrong\n",
              arguments[3], static_cast<unsigned long long>(last),
              static_cast<unsigned long long>(tried.load()), static_cast<unsigned long long>(wrong.load()));
  return wrong == 0 ? 0 : 1;
}
