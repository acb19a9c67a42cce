// SPDX-License-Identifier: Apache-2.0
// The `weir` command: reads the command line and hands over to a subcommand.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "command.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

int run(int argc, char** argv) {
  CLI::App app("Weir runs GPU work that is written once on whatever driver is installed.", "weir");
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  auto commands = weir::tool::Command::all();
  std::sort(commands.begin(), commands.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::vector<std::pair<const CLI::App*, std::function<int()>>> actions;
  for (const weir::tool::Command* command : commands) {
    CLI::App* const subcommand = app.add_subcommand(command->name, command->description);
    actions.emplace_back(subcommand, command->set_up(*subcommand));
  }

  if (argc < 2) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  const std::string first = argv[1];
  const auto named = [&](const auto* command) { return command->name == first; };
  if (!first.starts_with('-') && std::none_of(commands.begin(), commands.end(), named)) {
    std::fprintf(stderr, "weir: there is no subcommand '%s'; weir --help lists them\n", first.c_str());
    return wrong_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : wrong_usage;
  }
  for (const auto& [subcommand, action] : actions)
    if (subcommand->parsed()) return action();
  return wrong_usage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir: %s\n", error.what());
    return failed;
  }
}
