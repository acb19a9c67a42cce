// SPDX-License-Identifier: Apache-2.0
// The `weir` command: reads the command line and runs a subcommand.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>
#include <weir/sdk/standard_output.hpp>

#include "command.hpp"
#include "foreign_text.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

std::string subcommands_of(CLI::App& app) {
  std::string names;
  for (const CLI::App* subcommand : app.get_subcommands({})) names += " " + subcommand->get_name();
  return names;
}

// Follows `words` from subcommand to subcommand. If one is missing or unknown, lists the valid ones; the
// parser would only report that one is required.
void check_subcommands(CLI::App& app, std::span<char* const> words) {
  CLI::App* current = &app;
  std::string path = "weir";
  for (const std::string word : words) {
    if (current->get_subcommands([](const CLI::App*) { return true; }).empty()) return;
    if (word.starts_with('-')) {
      if (current->get_option_no_throw(word) != nullptr) return;
      throw weir::tool::UsageError("there is no option '" + word + "'; " + path + " --help lists them");
    }
    const auto named = [&](const CLI::App* subcommand) { return subcommand->check_name(word); };
    const auto found = current->get_subcommands(named);
    if (found.empty())
      throw weir::tool::UsageError("there is no subcommand '" + word + "'; " + path +
                                   " has:" + subcommands_of(*current));
    current = found.front();
    path += " " + word;
  }
  if (current->get_require_subcommand_min() == 0) return;
  throw weir::tool::UsageError(path + " takes a subcommand; there are:" + subcommands_of(*current));
}

int run(int argc, char** argv) {
  CLI::App app("Write GPU kernels once; run them on any installed driver.", "weir");
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
  check_subcommands(app, std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);  // prints the help or the version
  } catch (const CLI::ParseError& error) {
    throw weir::tool::UsageError(error.what() + std::string("; --help lists the arguments"));
  }
  for (const auto& [subcommand, action] : actions)
    if (subcommand->parsed()) return action();
  return wrong_usage;
}

constexpr char out_of_memory[] =
    "weir: host memory ran out; free host memory, or raise the limit of the process or its container\n";

// Some allocations are in functions that cannot throw: constructors of global objects, and destructors of
// nlohmann::json.
std::atomic<bool> memory_ran_out{false};
std::terminate_handler usual_terminate;

[[noreturn]] void end_without_memory() noexcept {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, out_of_memory, sizeof out_of_memory - 1);
  _exit(failed);
}

void terminate() {
  if (memory_ran_out) end_without_memory();
  usual_terminate();
  std::abort();
}

// Before the global objects of other files are constructed.
[[gnu::constructor(101)]] void handle_lack_of_memory() {
  std::set_new_handler([] {
    memory_ran_out = true;
    throw std::bad_alloc();
  });
  usual_terminate = std::set_terminate(terminate);
}

/// Messages may quote files, whose control characters must not reach a terminal.
void print_error(const char* words) noexcept {
  std::fputs("weir: ", stderr);
  for (; *words; ++words) std::fputc(weir::is_control_in_lines(*words) ? '?' : *words, stderr);
  std::fputc('\n', stderr);
}

}  // namespace

static int run_and_explain(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const weir::tool::UsageError& error) {
    print_error(error.what());
    return wrong_usage;
  } catch (const std::bad_alloc&) {
    std::fputs(out_of_memory, stderr);
    return failed;
  } catch (const std::exception& error) {
    print_error(error.what());
    return failed;
  }
}

int main(int argc, char** argv) {
  weir::sdk::hold_standard_descriptors();
  weir::sdk::ignore_file_size_signal();
  return weir::sdk::check_standard_output("weir", run_and_explain(argc, argv));
}
