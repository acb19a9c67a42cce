// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite as a program and reads its reports.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace weir::test {

/// One run of the suite: its exit status, its output and its three reports.
struct Judgement {
  int status = -1;
  std::string printed;
  nlohmann::json report;
  std::string page, junit;

  /// The entry of a requirement in the report; throws std::runtime_error if the run did not include it.
  const nlohmann::json& outcome_of(const std::string& id) const;
  int count(const std::string& outcome) const { return report.at("counts").at(outcome).get<int>(); }
};

/// The file's text; empty if it cannot be read.
std::string contents(const std::filesystem::path& path);

/// Runs the suite in a shell; `environment` precedes the command.
Judgement judge(const std::string& driver, const std::string& arguments, const std::string& environment = "");

Judgement judge_mutant(const std::string& name, const std::string& arguments);

/// Judges the driver with faults at load or at process exit.
Judgement judge_odd(const std::string& fault, const std::string& arguments);

/// Writes a file of expectations or of a simulator's configuration, and returns its path.
std::string expectations_file(const std::string& text);

/// The reports of the CPU driver's run with two devices, shared by the tests that inspect them: of an earlier run whose
/// reports are in the folder WEIR_SUITE_RUN, if it is set, else of a run of levels 0 to 5.
const Judgement& cpu_run();

/// The results that the driver's functions returned in the run.
std::set<std::string> results_in(const Judgement& run);

}  // namespace weir::test
