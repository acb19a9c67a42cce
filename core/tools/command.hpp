// SPDX-License-Identifier: Apache-2.0
// Registers a subcommand of `weir`: its file defines one Command at namespace scope, which main() finds.
//
//   int run_hello(const Options& options);
//   const weir::tool::Command hello("hello", "Says hello.", [](CLI::App& app) -> std::function<int()> {
//     auto options = std::make_shared<Options>();
//     app.add_option("name", options->name, "The person to greet")->required();
//     return [options] { return run_hello(*options); };
//   });
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace weir::tool {

/// The command line is invalid. `weir` then exits with 2; it exits with 1 if a valid command failed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Command {
 public:
  /// Adds the subcommand's options to `app` and returns its action. The action returns the exit status, or
  /// throws weir::Error, which main() prints.
  using SetUp = std::function<std::function<int()>(CLI::App& app)>;

  Command(std::string name, std::string description, SetUp set_up)
      : name(std::move(name)), description(std::move(description)), set_up(std::move(set_up)) {
    all().push_back(this);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  const std::string name;
  const std::string description;
  const SetUp set_up;

  static std::vector<const Command*>& all() {
    static std::vector<const Command*> commands;
    return commands;
  }
};

}  // namespace weir::tool
