// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <algorithm>
#include <cstdio>

namespace weir::demo {

std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, double seconds,
                          std::string_view note, bool terminal) {
  constexpr std::int64_t cells = 28;
  const std::int64_t filled = total > 0 ? std::clamp<std::int64_t>(done * cells / total, 0, cells) : cells;
  std::string line = std::string(label) + " ";
  if (!terminal) line += '[';
  for (std::int64_t i = 0; i < cells; ++i)
    line += terminal ? (i < filled ? "\u2588" : "\u2591") : (i < filled ? "#" : ".");
  if (!terminal) line += ']';
  char text[96];
  std::snprintf(text, sizeof text, " %3d %%  %lld/%lld  %.1f/s",
                static_cast<int>(total > 0 ? done * 100 / total : 100), static_cast<long long>(done),
                static_cast<long long>(total), seconds > 0 ? static_cast<double>(done) / seconds : 0.0);
  line += text;
  if (!note.empty()) line.append("  ").append(note);
  return line;
}

void Progress::show(std::int64_t done, double seconds, std::string_view note) {
  if (terminal_) {
    if (seconds < next_ && done < total_) return;
    next_ = seconds + 0.1;
    out_ << '\r' << progress_line(label_, done, total_, seconds, note, true) << "\x1b[K" << std::flush;
    drawn_ = true;
  } else {
    const std::int64_t tenths = total_ > 0 ? done * 10 / total_ : 10;
    if (tenths <= tenths_) return;
    tenths_ = tenths;
    out_ << progress_line(label_, done, total_, seconds, note, false) << std::endl;
  }
}

void Progress::finish() {
  if (drawn_) out_ << '\n' << std::flush;
  drawn_ = false;
}

}  // namespace weir::demo
