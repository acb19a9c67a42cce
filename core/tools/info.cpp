// SPDX-License-Identifier: Apache-2.0
// `weir info`: lists the folders of drivers and communicators, and the state of each one found in them.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <weir/error.hpp>

#include "command.hpp"
#include "compilation/cache_policy.hpp"
#include "driver/registry.hpp"
#include "info_report.hpp"

namespace weir::tool {
namespace {

// Keeps the output of drivers and vendors' libraries out of the report while a driver is loaded in this
// process.
class QuietOutput {
 public:
  QuietOutput() : output_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    std::fflush(stdout);
    if (const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
      dup2(null, STDOUT_FILENO);
      close(null);
    }
  }
  QuietOutput(const QuietOutput&) = delete;
  QuietOutput& operator=(const QuietOutput&) = delete;
  ~QuietOutput() {
    std::fflush(stdout);
    if (output_ >= 0) dup2(output_, STDOUT_FILENO);
    close(output_);
  }

 private:
  int output_;
};

std::vector<Candidate> quietly_inspected_plugins() {
  const QuietOutput quiet;
  std::vector<Candidate> candidates = inspect_drivers();
  std::ranges::move(inspect_communicators(), std::back_inserter(candidates));
  return candidates;
}

std::vector<SearchFolder> all_search_folders() {
  std::vector<SearchFolder> folders = plugin_search_folders(PluginKind::driver);
  std::ranges::move(plugin_search_folders(PluginKind::communicator), std::back_inserter(folders));
  return folders;
}

struct InfoOptions {
  bool json = false;
  bool probe_again = false;
};

int run_info(const InfoOptions& options) {
  const bool json = options.json;
  if (options.probe_again)
    if (const std::string why = forget_probes(); !why.empty()) throw Error(ErrorCode::system, why);
  const std::vector<SearchFolder> folders = all_search_folders();
  const std::vector<Candidate> candidates = quietly_inspected_plugins();
  const bool coloured = !json && isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  const compilation::CachePolicy cache = compilation::current_cache_policy();
  const CacheState state{cache.folder.string(), compilation::why_cache_unusable(cache)};
  const std::string report =
      json ? info_json(folders, candidates, state) : info_text(folders, candidates, state, coloured);
  std::fwrite(report.data(), 1, report.size(), stdout);
  if (any_usable(candidates)) return 0;
  std::fflush(stdout);
  std::fputs(
      "weir: found no usable driver; install one (the package weir-driver-cpu works on every machine), or "
      "add the folder of its manifest to WEIR_DRIVER_PATH\n",
      stderr);
  return 1;
}

const Command info_command(
    "info", "List the drivers, their state and their devices, and the communicators",
    [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<InfoOptions>();
      app.add_flag("--json", options->json, "Print JSON");
      app.add_flag("--probe-again", options->probe_again,
                   "Discard the recorded trials and examine each plugin again in a separate process");
      return [options] { return run_info(*options); };
    });

}  // namespace
}  // namespace weir::tool
