// SPDX-License-Identifier: Apache-2.0
#include "suite_run.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "temporary_folder.hpp"

namespace weir::test {

namespace fs = std::filesystem;
using nlohmann::json;

const json& Judgement::outcome_of(const std::string& id) const {
  for (const json& entry : report.at("requirements"))
    if (entry.at("id") == id) return entry;
  throw std::runtime_error(id + " was not run");
}

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

Judgement reports_in(const fs::path& folder) {
  Judgement judgement;
  judgement.report = json::parse(contents(folder / "conformance.json"), nullptr, false);
  judgement.page = contents(folder / "conformance.html");
  judgement.junit = contents(folder / "conformance.xml");
  return judgement;
}

}  // namespace

Judgement judge(const std::string& driver, const std::string& arguments, const std::string& environment) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  const std::string command = environment + " '" WEIR_CONFORMANCE "' --driver '" + driver + "' --report '" +
                              (folder / "report").string() + "' " + arguments + " > '" +
                              (folder / "printed").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  Judgement judgement = reports_in(folder / "report");
  judgement.status = WEXITSTATUS(status);
  judgement.printed = contents(folder / "printed");
  return judgement;
}

Judgement judge_mutant(const std::string& name, const std::string& arguments) {
  return judge(WEIR_MUTANT_MANIFEST, "--patience 1 " + arguments, "WEIR_MUTANT=" + name);
}

Judgement judge_odd(const std::string& fault, const std::string& arguments) {
  return judge(WEIR_ODD_MANIFEST, "--filter C0.01,C0.02 " + arguments, "WEIR_ODD=" + fault);
}

std::string expectations_file(const std::string& text) {
  static const TemporaryFolder folder;
  const fs::path path = folder.path() / "expectations.json";
  std::ofstream(path) << text;
  return path.string();
}

const Judgement& cpu_run() {
  static const Judgement run = [] {
    if (const char* folder = std::getenv("WEIR_SUITE_RUN")) return reports_in(folder);
    return judge(WEIR_CPU_MANIFEST, "--level 5", "WEIR_CPU_DEVICES=2");
  }();
  return run;
}

std::set<std::string> results_in(const Judgement& run) {
  std::set<std::string> seen;
  for (const auto& [slot, results] : run.report.at("calls").items())
    for (const auto& [result, count] : results.items()) seen.insert(result);
  return seen;
}

}  // namespace weir::test
