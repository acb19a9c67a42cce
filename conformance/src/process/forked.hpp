// SPDX-License-Identifier: Apache-2.0
// Children made by fork, which have the driver's state but not its threads.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace weir::conformance {

/// Memory that a child shares with this process: the name of the call that it is in.
class Shared {
 public:
  Shared()
      : text_(static_cast<char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(text_, size); }
  char* text() const { return text_; }

 private:
  static constexpr std::size_t size = 4096;
  char* text_;
};

/// The status with which a child ends; none if it still runs when `may_run` returns false, and is killed.
std::optional<int> end_of(pid_t child, const std::function<bool()>& may_run);
/// "signal 6 (Aborted)", from the status of a child that a signal has ended.
std::string signal_of(int status);

}  // namespace weir::conformance
