// SPDX-License-Identifier: Apache-2.0
// Forked children, including a fork while another thread is inside the driver.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <weir/error.hpp>

#include "support/watched_driver.hpp"

namespace weir::test {

/// Waits until every other thread of this process sleeps. At a fork, the AddressSanitizer of g++ 12 does not
/// release the allocator's locks of other threads, and the child would wait for them in operator new. A
/// sleeping thread holds none. Elsewhere the child must not depend on this.
inline void wait_for_other_threads() {
#ifdef __SANITIZE_ADDRESS__
  const auto one_runs = [] {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() == std::to_string(gettid())) continue;
      std::string line;
      std::getline(std::ifstream(thread.path() / "stat"), line);
      // "number (name) state ...", and nothing when the thread has ended.
      if (const std::size_t name_end = line.rfind(')'); name_end != line.npos && line[name_end + 2] != 'S') return true;
    }
    return false;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (one_runs() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
#endif
}

/// Forks and returns the result of `in_child`, which must end within `seconds`. The parent runs `in_parent`
/// meanwhile.
inline std::string report_of_child(
    unsigned seconds,
    const std::function<void(const std::function<void(const std::string&)>& report)>& in_child,
    const std::function<void()>& in_parent = [] {}) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  wait_for_other_threads();
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    in_child([&](const std::string& text) {
      if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
    });
    _exit(0);
  }
  close(ends[1]);
  in_parent();
  std::string text;
  char part[4096];
  for (ssize_t length; (length = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(length));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child hung or crashed: " << status;
  return text;
}

/// Forks while `held`, on another thread, is blocked in the driver's `slot`. Returns the messages of the
/// exceptions that `calls` throw in the child, one per line. `end` then destroys the child's objects. The
/// device must come from Watch::open().
inline std::string errors_in_child(std::string_view slot, const std::function<void()>& held,
                                   const std::vector<std::function<void()>>& calls,
                                   const std::function<void()>& end) {
  static thread_local bool is_held = false;
  std::atomic<bool> stopped{false}, go_on{false};
  Watch::get().before(slot, [&] {
    if (!is_held) return;
    stopped = true;
    go_on.wait(false);
  });
  std::thread thread([&] {
    is_held = true;
    held();
  });
  while (!stopped) std::this_thread::yield();
  const std::string text = report_of_child(
      20,
      [&](const auto& report) {
        for (const std::function<void()>& call : calls) {
          std::string message = "nothing was thrown";
          try {
            call();
          } catch (const Error& error) {
            message = error.code() == ErrorCode::system ? "refused" : error.what();
          }
          report(message + '\n');
        }
        end();
      },
      [&] {
        go_on = true;
        go_on.notify_one();
        thread.join();
      });
  Watch::get().before(slot, nullptr);
  return text;
}

}  // namespace weir::test
