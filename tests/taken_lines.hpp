// SPDX-License-Identifier: Apache-2.0
// The lines that kernels print, for tests.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/on_print.hpp>

namespace weir::test {

using Lines = std::vector<std::string>;

/// Takes the process's lines while it lives.
class TakenLines {
 public:
  TakenLines() {
    on_print([this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~TakenLines() { on_print({}); }
  TakenLines(const TakenLines&) = delete;
  TakenLines& operator=(const TakenLines&) = delete;
  Lines take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  Lines lines_;
};

}  // namespace weir::test
