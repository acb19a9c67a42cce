// SPDX-License-Identifier: Apache-2.0
// The processes of weir-codegen that this process has started, found by a variable in their environment.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace weir::test {

/// Waits until `holds` returns true; false after half a minute.
bool comes_true(const std::function<bool()>& holds);

class HelperProcesses {
 public:
  /// Marks the environment. Must be constructed before the first compilation.
  HelperProcesses();
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;
  ~HelperProcesses();

  std::vector<pid_t> all() const;
  /// The process that starts the workers; -1 if there is none.
  pid_t supervisor() const;
  /// The processes that compile.
  std::vector<pid_t> workers() const;

 private:
  std::string mark_;
};

/// A field of /proc/PID/status, or "".
std::string status_of(pid_t process, const std::string& field);

}  // namespace weir::test
