// SPDX-License-Identifier: Apache-2.0
// Runs workers and keeps what became of every test, also when a worker crashes, hangs or exits.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "result.hpp"

namespace weir::conformance {

struct Supervision {
  std::vector<std::string> worker;    ///< the command line of a worker, without what is added here
  std::chrono::seconds limit{60};     ///< for one test below level 8; stress tests get three times that
  std::function<void(Result&)> told;  ///< after each test, before its result is kept

  /// For a process whose work is done to end.
  std::chrono::seconds exit_limit() const { return std::min(limit, std::chrono::seconds(30)); }
};

/// Runs `chosen` in workers and fills results and calls of `run`.
void supervise(const Supervision& supervision, const std::vector<const Requirement*>& chosen, Run& run);

/// Fills driver and device of `run`, or says under "error" what became of the process that asked. False when
/// the driver did not answer in time: each of the tests would wait as long.
bool describe(const Supervision& supervision, Run& run);

}  // namespace weir::conformance
