// SPDX-License-Identifier: Apache-2.0
// weir-conformance: tests a driver against the contract of <weir/driver.h>, or a communicator against that of
// <weir/communicator.h>, and reports the results.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>
#include <weir/sdk/standard_output.hpp>

#include "communicator/communicator_under_test.hpp"
#include "communicator/ranks.hpp"
#include "driver/driver_under_test.hpp"
#include "driver/trace.hpp"
#include "kernels/kernels.hpp"
#include "process/supervise.hpp"
#include "process/worker.hpp"
#include "report/expectations.hpp"
#include "report/report.hpp"
#include "report/sha256.hpp"

namespace weir::conformance {
namespace {

constexpr int thorough_factor = 10;  ///< of the time that one test may take

struct Options {
  std::string driver, communicator, launcher = "mpirun --oversubscribe --enable-recovery", rank_of;
  std::string layer, expectations, report, kernels;
  std::optional<std::string> level;  // all, if none is given
  std::vector<std::string> filter;
  std::uint32_t device = 0, ranks = 3;
  int limit = 60, patience = 10;
  bool list = false, quiet = false, thorough = false, worker = false, describe = false;
  int output = -1, trace = -1;
};

/// "3" means all levels up to 3, "3-3" means level 3 only.
std::pair<int, int> level_range(const std::string& text) {
  const int highest = level_count() - 1;
  const auto is_level = [&](char c) { return c >= '0' && c <= '0' + highest; };
  if (text.size() == 3 && is_level(text[0]) && text[1] == '-' && is_level(text[2]) && text[0] <= text[2])
    return {text[0] - '0', text[2] - '0'};
  if (text.size() == 1 && is_level(text[0])) return {0, text[0] - '0'};
  throw std::runtime_error("--level is '" + text + "'; expected a number from 0 to " +
                           std::to_string(highest) + ", or a range such as 2-4");
}

std::vector<const Requirement*> chosen(const Options& options) {
  const std::string level = options.level.value_or("0-" + std::to_string(level_count() - 1));
  const auto [low, high] = level_range(level);
  for (const std::string& part : options.filter)
    if (std::ranges::none_of(requirements(), [&](const Requirement& r) { return matches(part, r); }))
      throw std::runtime_error(
          "--filter has '" + part +
          "', which matches no requirement; expected numbers, test names or groups such as " +
          (subject() == Subject::driver ? "C2.07, C1.* or Events" : "K2.07, K1.* or Failure") +
          ", which --list prints");
  std::vector<const Requirement*> found;
  for (const Requirement& requirement : requirements()) {
    if (requirement.level < low || requirement.level > high) continue;
    const bool wanted =
        options.filter.empty() ||
        std::ranges::any_of(options.filter, [&](const std::string& f) { return matches(f, requirement); });
    if (wanted) found.push_back(&requirement);
  }
  if (found.empty())
    throw std::runtime_error("--filter matches no requirement of --level " + level +
                             "; change the level, or omit one of the two options");
  return found;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

int judge(const Options& options) {
  const bool communicates = subject() == Subject::communicator;
  const DriverFile file =
      communicates ? find_communicator(options.communicator) : find_driver(options.driver);
  find_layer(options.layer);  // fails now if the layer does not exist
  if (!options.kernels.empty()) check_kernels(options.kernels);
  const std::vector<const Requirement*> tests = chosen(options);
  const std::vector<Expectation> expectations =
      options.expectations.empty() ? std::vector<Expectation>{} : read_expectations(options.expectations);
  if (!options.report.empty()) prepare_reports(options.report);
  Run run;
  run.started = now_text();
  run.driver = {
      {"name", file.name}, {"library", file.library.string()}, {"sha256", sha256_of_file(file.library)}};
  if (!options.layer.empty()) run.driver["layer"] = options.layer;
  if (!file.manifest.empty()) run.driver["manifest"] = file.manifest.string();

  Supervision supervision;
  supervision.worker = {"weir-conformance",
                        communicates ? "--communicator" : "--driver",
                        file.manifest.empty() ? file.library : file.manifest,
                        "--layer",
                        options.layer,
                        "--device",
                        std::to_string(options.device),
                        "--kernels",
                        options.kernels,
                        "--patience",
                        std::to_string(options.patience)};
  supervision.silent_exit = !communicates && options.layer.empty();  // layers print reports
  if (communicates)
    for (const std::string& word :
         {std::string("--ranks"), std::to_string(options.ranks), std::string("--launcher"), options.launcher})
      supervision.worker.push_back(word);
  if (options.thorough) supervision.worker.push_back("--thorough");
  supervision.limit = std::chrono::seconds(options.limit) * (options.thorough ? thorough_factor : 1);
  supervision.on_result = [&](Result& result) {
    apply(expectations, result);
    print(result, options.quiet);
  };
  const auto began = std::chrono::steady_clock::now();
  const bool answered = describe(supervision, run);
  if (!run.layer_refusal.empty())
    throw std::runtime_error("--layer is '" + options.layer +
                             "', which cannot be loaded over the driver: " + run.layer_refusal);
  if (communicates && run.driver.contains("ranks_refusal"))
    throw std::runtime_error("--ranks is " + std::to_string(options.ranks) + ": " +
                             run.driver["ranks_refusal"].get<std::string>());
  if (run.devices && options.device >= run.devices)
    throw std::runtime_error("--device is " + std::to_string(options.device) + ", but the driver " +
                             file.name + " has " + std::to_string(run.devices) +
                             (run.devices == 1
                                  ? " device: 0 is the only one"
                                  : " devices: expected 0 to " + std::to_string(run.devices - 1)));
  supervise(supervision, answered ? tests : std::vector<const Requirement*>{}, run);
  if (!answered) {
    const std::string message = run.driver["error"].get<std::string>() + "; no requirement was tried";
    Result failed{tests.front(), Outcome::failed, 1000.0 * options.limit, message, {}};
    supervision.on_result(failed);
    run.results.push_back(std::move(failed));
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  print_summary(run);
  if (!options.report.empty()) write_reports(run, options.report);
  return run.good() ? 0 : 1;
}

int worker_of_communicator(const Options& options) {
  ranks_under_test() = {find_communicator(options.communicator), options.ranks, options.launcher,
                        std::chrono::seconds(options.patience)};
  if (!options.rank_of.empty()) return run_rank(options.rank_of);
  if (options.trace >= 0) use_trace(options.trace);
  return options.describe ? describe_communicator(options.output) : run_worker(options.output);
}

int main_of(const Options& options) {
  if (!options.communicator.empty() && !options.driver.empty())
    throw std::runtime_error("--driver and --communicator are given; expected one of them");
  if (!options.communicator.empty()) subject() = Subject::communicator;
  sort_requirements();
  if (options.list) {
    for (const Requirement* requirement : chosen(options))
      std::printf("%s %s\n      %s\n", requirement->id.c_str(), requirement->name.c_str(),
                  requirement->sentence.c_str());
    return 0;
  }
  if (options.driver.empty() && options.communicator.empty())
    throw std::runtime_error(
        "--driver is missing; expected the name of an installed driver, its manifest or its library, or "
        "--communicator with those of a communicator");
  if (!options.rank_of.empty()) return worker_of_communicator(options);
  if (options.output < 0) return judge(options);
  if (subject() == Subject::communicator) return worker_of_communicator(options);
  judged() = {find_driver(options.driver),
              find_layer(options.layer),
              options.device,
              options.kernels,
              std::chrono::seconds(options.patience),
              options.thorough};
  if (options.trace >= 0) use_trace(options.trace);
  return options.describe ? describe_driver(options.output) : run_worker(options.output);
}

}  // namespace
}  // namespace weir::conformance

static int run(int argument_count, char** arguments) {
  using namespace weir::conformance;
  Options options;
  CLI::App app("Tests a Weir driver or communicator against the contract of its header.");
  app.set_version_flag("--version", WEIR_VERSION);
  app.add_option("--driver", options.driver,
                 "name of an installed driver, its manifest (.json) or its library (.so)");
  app.add_option("--communicator", options.communicator,
                 "name of an installed communicator, its manifest or its library, instead of a driver");
  app.add_option("--ranks", options.ranks, "number of ranks of a communicator; 3 by default")
      ->check(CLI::Range(1, 64));
  app.add_option(
      "--launcher", options.launcher,
      "command that starts ranks as processes, before -np N; mpirun --oversubscribe --enable-recovery "
      "by default");
  app.add_option(
      "--layer", options.layer,
      "a layer to load over the driver: NAME:OPTIONS as in WEIR_LAYERS, or the path of its library");
  app.add_option("--level", options.level,
                 "the highest level, 0 to 8 (of communicators 0 to 4), or a range: 2-4");
  app.add_option("--filter", options.filter,
                 "requirements to run: numbers, test names or groups; * and ? are wildcards")
      ->delimiter(',');
  app.add_option("--device", options.device, "index of the driver's device; 0 by default");
  app.add_option("--expectations", options.expectations, "JSON file of known failures, with reasons");
  app.add_option("--kernels", options.kernels,
                 "folder of ready code objects, for drivers without code generation in Weir");
  app.add_option("--report", options.report,
                 "folder for conformance.json, conformance.xml and conformance.html");
  app.add_option("--timeout", options.limit, "seconds allowed for one test; three times as many at level 8")
      ->check(CLI::PositiveNumber);
  app.add_option("--patience", options.patience,
                 "seconds after which a call counts as blocked; 10 by default")
      ->check(CLI::PositiveNumber);
  app.add_flag("--thorough", options.thorough,
               "more sizes, offsets, rounds and seeds; ten times the time limit for each test");
  app.add_flag("--list", options.list, "print the requirements and run nothing");
  app.add_flag("--quiet", options.quiet, "print failures and the summary only");
  app.add_option("--worker-output", options.output)->group("");
  app.add_option("--worker-trace", options.trace)->group("");
  app.add_option("--rank-of", options.rank_of)->group("");
  app.add_flag("--describe", options.describe)->group("");
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // CLI11 reports --help and --version as errors too
  }
  try {
    return main_of(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-conformance: %s\n", error.what());
    return 2;
  }
}

int main(int argument_count, char** arguments) {
  weir::sdk::hold_standard_descriptors();
  weir::sdk::ignore_file_size_signal();
  return weir::sdk::check_standard_output("weir-conformance", run(argument_count, arguments));
}
