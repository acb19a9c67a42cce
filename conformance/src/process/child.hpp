// SPDX-License-Identifier: Apache-2.0
// A child process that reads its task from standard input and reports in lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "driver/trace.hpp"
#include "process/diverted.hpp"

namespace weir::conformance {

class Child {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts this program again with `arguments`, the number of the descriptor for its reports and that of its
  /// trace, and writes `input` to its standard input. Throws std::system_error.
  Child(std::vector<std::string> arguments, const std::string& input);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  enum class Event { line, end, late };
  /// Waits for the next line that is not empty, the end of the output, or `until`.
  Event next(std::string& line, Clock::time_point until);

  void kill();
  /// Waits for the child to exit, at most until `until`; returns nullopt if it still runs. Returns an empty
  /// string for exit status 0 or 1, else the cause: "was ended by signal 11 (Segmentation fault)".
  std::optional<std::string> ending(Clock::time_point until);
  /// True if another process held the report descriptor open when the child exited.
  bool left_a_process() const { return left_a_process_; }
  /// Prints the child's output since the last call; returns whether there was any.
  bool pass_on_output() { return output_.pass_on(); }
  /// Bytes of output so far.
  long output_size() const { return output_.size(); }
  /// The calls in flight and the last calls of the child; see trace.hpp.
  std::string trace() const { return trace_.text(); }

 private:
  bool has_ended() const;

  const TraceMemory trace_;
  SharedOutput output_;
  pid_t process_ = -1;
  int answers_ = -1;
  bool left_a_process_ = false;
  std::string buffer_;
};

}  // namespace weir::conformance
