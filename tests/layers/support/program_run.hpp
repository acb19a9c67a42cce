// SPDX-License-Identifier: Apache-2.0
// One run of a GoogleTest program under layers, in a process of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weir::test {

/// A run that takes longer is ended by SIGALRM. Some tests wait 30 seconds for what never comes.
inline constexpr unsigned most_seconds = 120;

/// How a run ended.
struct Ended {
  int status = 0;       ///< as waitpid gives it
  std::string printed;  ///< standard output and errors
  double seconds = 0;
  std::map<std::string, std::uint64_t> calls;  ///< of the driver, by function
  /// Objects of the driver that were alive when the process ended and that the core does not keep for later,
  /// by kind: what the program holds until its end, or has lost.
  std::map<std::string, std::int64_t> left;
};

/// All may be called on several threads.
class ProgramRun {
 public:
  /// Makes a folder for generated code, which the runs share, and for what they write.
  explicit ProgramRun(std::string program);
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;

  /// The test cases that `filter` leaves, without those that are disabled.
  std::vector<std::string> cases(const std::string& filter) const;
  /// Runs the chosen cases so many times in one process. `fault` is a rule of the fault layer, or "".
  Ended run(const std::string& filter, int rounds, const std::string& fault) const;
  /// Runs a program that knows nothing of GoogleTest.
  Ended run_with(const std::vector<std::string>& arguments, const std::string& fault) const;

 private:
  Ended run_counted(const std::string& filter, const std::vector<std::string>& arguments,
                    const std::string& fault) const;
  Ended start(const std::string& filter, std::vector<std::string> arguments, const std::string& layers,
              const std::string& counts) const;

  const std::string program_;
  mutable std::atomic<std::uint64_t> runs_{0};
  std::filesystem::path folder_;
};

}  // namespace weir::test
