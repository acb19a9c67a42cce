// SPDX-License-Identifier: Apache-2.0
// One run of a GoogleTest program under layers, in its own process.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weir::test {

/// SIGALRM ends a longer run. Some tests wait 30 seconds before they fail.
inline constexpr unsigned max_seconds = 120;

/// The result of a run.
struct Ended {
  int status = 0;       ///< as returned by waitpid
  std::string printed;  ///< standard output and errors
  double seconds = 0;
  std::map<std::string, std::uint64_t> calls;  ///< of the driver, by function
  /// Objects of the driver, by kind, that were alive when the process ended and that the core does not cache.
  /// The program holds them until its end, or has leaked them.
  std::map<std::string, std::int64_t> left;
};

/// All functions may be called on several threads.
class ProgramRun {
 public:
  /// Creates a folder for the runs' output and for generated code, which the runs share.
  explicit ProgramRun(std::string program);
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;

  /// The enabled test cases that match `filter`.
  std::vector<std::string> cases(const std::string& filter) const;
  /// Runs the matching cases `rounds` times in one process. `fault` is a rule of the fault layer, or "".
  Ended run(const std::string& filter, int rounds, const std::string& fault) const;
  /// Runs a program that does not use GoogleTest.
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
