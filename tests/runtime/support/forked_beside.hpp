// SPDX-License-Identifier: Apache-2.0
// Forked children, including a fork while another thread is inside the driver.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <weir/error.hpp>

#include "support/watched_driver.hpp"

namespace weir::test {

/// Forks and returns the result of `in_child`, which must end within `seconds`. The parent runs `in_parent`
/// meanwhile.
inline std::string told_by_child(
    unsigned seconds,
    const std::function<void(const std::function<void(const std::string&)>& tell)>& in_child,
    const std::function<void()>& in_parent = [] {}) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
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
inline std::string told_in_child(std::string_view slot, const std::function<void()>& held,
                                 const std::vector<std::function<void()>>& calls,
                                 const std::function<void()>& end) {
  static thread_local bool is_held = false;
  std::atomic<bool> stopped{false}, go_on{false};
  Watch::get().before(slot, [&] {
    if (!is_held) return;
    stopped = true;
    while (!go_on) std::this_thread::yield();
  });
  std::thread thread([&] {
    is_held = true;
    held();
  });
  while (!stopped) std::this_thread::yield();
  const std::string text = told_by_child(
      20,
      [&](const auto& tell) {
        for (const std::function<void()>& call : calls) {
          std::string words = "nothing was thrown";
          try {
            call();
          } catch (const Error& error) {
            words = error.code() == ErrorCode::system ? "refused" : error.what();
          }
          tell(words + '\n');
        }
        end();
      },
      [&] {
        go_on = true;
        thread.join();
      });
  Watch::get().before(slot, nullptr);
  return text;
}

}  // namespace weir::test
