// SPDX-License-Identifier: Apache-2.0
// A child process that is told what to do on its standard input and answers in lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weir::conformance {

class Child {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts this very program with `arguments` and the number of the descriptor that it answers on, and gives
  /// it `input`. Throws std::system_error.
  Child(std::vector<std::string> arguments, const std::string& input);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  enum class Event { line, end, late };
  /// The next line that is not empty, the end of all lines, or that `until` has passed.
  Event next(std::string& line, Clock::time_point until);

  void kill();
  /// Waits for the end until `until`; nothing when the process runs on. Empty when it exited with 0 or 1,
  /// else how it ended: "was ended by signal 11 (Segmentation fault)".
  std::optional<std::string> ending(Clock::time_point until);
  /// Whether another process held the descriptor of the answers when the child had ended.
  bool left_a_process() const { return left_a_process_; }

 private:
  bool has_ended() const;

  pid_t process_ = -1;
  int answers_ = -1;
  bool left_a_process_ = false;
  std::string buffer_;
};

}  // namespace weir::conformance
