// SPDX-License-Identifier: Apache-2.0
// `weir info`: every place where drivers are looked for, every driver found there, and what became of it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "command.hpp"
#include "driver/registry.hpp"
#include "info_report.hpp"

namespace weir::tool {
namespace {

int run_info(bool json) {
  const std::vector<SearchFolder> folders = driver_search_folders();
  const std::vector<Candidate>& candidates = drivers();
  const bool coloured = !json && isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  const std::string report = json ? info_json(folders, candidates) : info_text(folders, candidates, coloured);
  std::fwrite(report.data(), 1, report.size(), stdout);
  if (any_usable(candidates)) return 0;
  std::fflush(stdout);
  std::fputs(
      "weir: no usable driver was found; install one (the CPU driver works on every machine), or name the "
      "folder of "
      "its manifest in WEIR_DRIVER_PATH\n",
      stderr);
  return 1;
}

const Command info("info", "List the drivers, what became of each, and their devices",
                   [](CLI::App& app) -> std::function<int()> {
                     auto json = std::make_shared<bool>(false);
                     app.add_flag("--json", *json, "Print JSON");
                     return [json] { return run_info(*json); };
                   });

}  // namespace
}  // namespace weir::tool
