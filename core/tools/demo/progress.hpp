// SPDX-License-Identifier: Apache-2.0
// Reports the progress of a long run: a redrawn bar on a terminal, one line per tenth elsewhere.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace weir::demo {

class Progress {
 public:
  /// `terminal`: whether `out` supports carriage returns and UTF-8.
  Progress(std::ostream& out, bool terminal, std::string label, std::int64_t total)
      : out_(out), terminal_(terminal), label_(std::move(label)), total_(total) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  /// Reports `done` of the total after `seconds`; cheap if the output would not change.
  void show(std::int64_t done, double seconds, std::string_view note = {});
  /// Ends the bar's line; later calls of show() print nothing.
  void finish();

 private:
  std::ostream& out_;
  bool terminal_;
  std::string label_;
  std::int64_t total_;
  double next_ = 0;  ///< seconds; the terminal is redrawn at most ten times a second
  std::int64_t tenths_ = 0;
  bool drawn_ = false;
};

/// "label [#####.....]  50 %  1000/2000  85.1/s  note"
std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, double seconds,
                          std::string_view note, bool terminal);

}  // namespace weir::demo
