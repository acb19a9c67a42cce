// SPDX-License-Identifier: Apache-2.0
// Runs workers and keeps the outcome of every test, also if a worker crashes, hangs or exits.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "report/result.hpp"

namespace weir::conformance {

struct Supervision {
  std::vector<std::string> worker;         ///< the command line of a worker, without the arguments added here
  std::chrono::seconds limit{60};          ///< for one test below level 8; stress tests get three times that
  std::function<void(Result&)> on_result;  ///< called after each test, before its result is kept
  bool silent_exit = false;                ///< whether a worker must print nothing after its last test

  /// Time for a process to exit after its last test.
  std::chrono::seconds exit_limit() const { return std::min(limit, std::chrono::seconds(30)); }
};

/// Runs `chosen` in workers and fills results and calls of `run`.
void supervise(const Supervision& supervision, const std::vector<const Requirement*>& chosen, Run& run);

/// Fills driver and device of `run`, or stores the failure of the query under "error". Returns false if the
/// driver did not answer in time, in which case each test would time out as well.
bool describe(const Supervision& supervision, Run& run);

}  // namespace weir::conformance
