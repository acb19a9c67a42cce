// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "paired.hpp"
#include "temporary_folder.hpp"
#include "tools/footprint.hpp"

extern char** environ;

namespace weir::bench {
namespace {

namespace fs = std::filesystem;

fs::path installed(const char* program) {
  return fs::read_symlink("/proc/self/exe").parent_path() / program;
}

using Variables = std::vector<std::string>;  // NAME=VALUE

// Uses posix_spawn instead of std::system, since the start of a shell must not be measured. `own` replace
// variables of this program's environment.
void run(const std::vector<std::string>& command, const Variables& own = {}) {
  std::vector<char*> words, variables;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  for (const std::string& variable : own) variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** each = environ; *each; ++each)
    if (std::ranges::none_of(own, [&](const std::string& variable) {
          return std::strncmp(*each, variable.c_str(), variable.find('=') + 1) == 0;
        }))
      variables.push_back(*each);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int refused = posix_spawn(&child, words[0], &quiet, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&quiet);
  if (refused != 0) throw std::runtime_error("cannot start " + command[0]);
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || status != 0) throw std::runtime_error(command[0] + " failed");
}

// A folder for a program's caches, so that the user's are left unchanged.
class Cache {
 public:
  /// Of generated code, and of what is known about drivers.
  std::string all() const { return "XDG_CACHE_HOME=" + folder_.path().string(); }
  std::string code() const { return "WEIR_CACHE=" + folder_.path().string(); }

 private:
  const test::TemporaryFolder folder_;
};

void add_info_case(const char* name, std::vector<std::string> command) {
  static const Cache cache;
  command.insert(command.begin(), installed("weir").string());
  add({.name = name,
       .bar = "at most 50 ms and 30 MiB",
       .samples = 21,
       .ours = [command] { run(command, {cache.all()}); },
       .peer = {},
       .peak_mib =
           [command] {
             return static_cast<double>(test::footprint_of(command, {cache.all()}).peak_kib) / 1024;
           }});
}

}  // namespace

void add_startup_cases() {
  static const Cache kept;
  const std::vector<std::string> first_result{installed("weir-bench-first-result").string()};
  const auto add_first_result = [&](const char* name, const char* bar, std::function<void()> ours) {
    add({.name = std::string("process_start_to_first_result/") + name,
         .bar = bar,
         .samples = 21,
         .ours = std::move(ours),
         .peer = {}});
  };
  add_first_result("first_start", "no bar: the driver is tried, too", [first_result] {
    const Cache empty;
    run(first_result, {empty.all()});
  });
  add_first_result("cold", "at most 25 ms", [first_result] {
    const Cache empty;
    run(first_result, {kept.all(), empty.code()});
  });
  add_first_result("warm", "at most 6 ms", [first_result] { run(first_result, {kept.all()}); });
  add_info_case("weir_info_known_drivers", {"info"});
  add_info_case("weir_info_unknown_drivers", {"info", "--probe-again"});  // as at the first start
}

}  // namespace weir::bench
