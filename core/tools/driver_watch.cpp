// SPDX-License-Identifier: Apache-2.0
// `weir driver watch PATH`: tests a driver again whenever its library changes.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>
#include <weir/error.hpp>

#include "command.hpp"
#include "tool_files.hpp"

extern char** environ;

namespace weir::tool {
namespace {

namespace fs = std::filesystem;

constexpr int top_level = 8;
constexpr int poll_milliseconds = 100;
constexpr int settled_polls = 2;  ///< a linker may write a library in several steps

volatile std::sig_atomic_t stopped = 0;

struct WatchOptions {
  std::string path, kernels, levels = "0-8";
};

/// Levels from the first to the last.
struct Levels {
  int first = 0, last = top_level;
};

/// Of "2-4", or of "4", which means 0 to 4.
Levels levels_of(const std::string& text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '0' + top_level; };
  Levels levels;
  if (text.size() == 1 && digit(0)) {
    levels.last = text[0] - '0';
  } else if (text.size() == 3 && digit(0) && text[1] == '-' && digit(2) && text[0] <= text[2]) {
    levels = {text[0] - '0', text[2] - '0'};
  } else {
    throw UsageError("--level is '" + text + "'; expected a level from 0 to 8, or a range such as 2-4");
  }
  return levels;
}

/// A text that changes when the file is written or replaced; empty if there is no file.
std::string version_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0 || found.st_size == 0) return {};
  return std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + " " +
         std::to_string(found.st_ino) + " " + std::to_string(found.st_size);
}

/// The library of a manifest, or `path` itself.
fs::path library_of(const fs::path& path) {
  if (path.extension() != ".json") return path;
  std::ifstream file(path);
  const nlohmann::json manifest = nlohmann::json::parse(file, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("library") || !manifest["library"].is_string())
    throw Error(ErrorCode::invalid, "the manifest " + path.string() +
                                        " names no library; expected the key \"library\" with a file name");
  return path.parent_path() / manifest["library"].get<std::string>();
}

fs::path suite() {
  const fs::path installed = installation_prefix() / "bin/weir-conformance";
  return fs::exists(installed) ? installed : fs::path("weir-conformance");
}

struct Judged {
  int status = -1;  ///< of the suite: 0 conforms, 1 does not, 2 cannot be tested
  std::string printed;
};

/// Runs the suite and collects its output. On a stop signal, ends the suite and returns.
Judged judge(const WatchOptions& options, const std::string& levels) {
  std::vector<std::string> words = {suite().string(), "--driver", options.path, "--level", levels, "--quiet"};
  if (!options.kernels.empty()) words.insert(words.end(), {"--kernels", options.kernels});
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int error = posix_spawnp(&child, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    throw Error(ErrorCode::system, words[0] +
                                       " cannot be started: " + std::generic_category().message(error) +
                                       "; install Weir's package weir-conformance");
  }
  Judged judged;
  std::array<char, 4096> buffer;
  while (!stopped) {
    pollfd waiting{ends[0], POLLIN, 0};
    if (poll(&waiting, 1, poll_milliseconds) <= 0) continue;
    const ssize_t count = read(ends[0], buffer.data(), buffer.size());
    if (count <= 0) break;
    judged.printed.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (stopped) kill(child, SIGTERM);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  judged.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return judged;
}

/// The first requirement that failed, with its message; all of the output if there is none.
std::string first_failure(const std::string& printed) {
  constexpr std::string_view word = "failed ";
  const std::size_t begin = printed.starts_with(word) ? 0 : printed.find("\nfailed ");
  if (begin == std::string::npos) return printed;
  std::size_t end = printed.find('\n', begin + 1);
  while (end != std::string::npos && end + 1 < printed.size() && printed[end + 1] == ' ')
    end = printed.find('\n', end + 1);
  return printed.substr(begin == 0 ? 0 : begin + 1,
                        end == std::string::npos ? end : end + 1 - (begin ? begin + 1 : 0));
}

/// Tests the levels upwards from the last failed one, then the levels below it. Returns the level that
/// failed, or the first if none did.
int test(const WatchOptions& options, const Levels& levels, int level) {
  const auto passes = [&](int tried) {
    const std::string number = std::to_string(tried);
    const Judged judged = judge(options, number + "-" + number);
    if (stopped || judged.status == 0) return true;
    std::printf("level %d fails:\n%s", tried, first_failure(judged.printed).c_str());
    std::fflush(stdout);
    return false;
  };
  const int count = levels.last - levels.first + 1;
  for (int offset = 0; offset < count && !stopped; ++offset) {
    const int tried = levels.first + (level - levels.first + offset) % count;
    if (!passes(tried)) return tried;
  }
  if (!stopped) std::printf("levels %d to %d pass\n", levels.first, levels.last);
  std::fflush(stdout);
  return levels.first;
}

int watch(const WatchOptions& options) {
  const Levels levels = levels_of(options.levels);
  if (!fs::is_directory(fs::absolute(options.path).parent_path()))
    throw UsageError("'" + options.path +
                     "' is in no folder that exists; expected a library or its manifest");
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::string tested, before;
  int level = levels.first, unchanged = 0;
  bool announced = false;
  while (!stopped) {
    const std::string now = fs::exists(options.path) ? version_of(library_of(options.path)) : "";
    unchanged = now == before ? unchanged + 1 : 0;
    before = now;
    if (!now.empty() && now != tested && unchanged >= settled_polls) {
      tested = now;
      level = test(options, levels, level);
      announced = false;
    } else if (!announced && now == tested) {
      std::printf("waiting for %s to change; Ctrl-C ends\n", options.path.c_str());
      std::fflush(stdout);
      announced = true;
    }
    if (!stopped) poll(nullptr, 0, poll_milliseconds);
  }
  return 0;
}

const Command command("driver", "Tools for driver developers", [](CLI::App& app) -> std::function<int()> {
  app.require_subcommand(1, 1);
  auto options = std::make_shared<WatchOptions>();
  CLI::App* const watching = app.add_subcommand(
      "watch", "Test a driver whenever its library changes, from the level that failed last");
  watching->add_option("path", options->path, "The driver's library (.so) or manifest (.json)")->required();
  watching->add_option("--level", options->levels,
                       "The highest level, 0 to 8, or a range such as 2-4; 8 by default");
  watching->add_option("--kernels", options->kernels,
                       "Folder of ready code objects, as for weir-conformance");
  return [options] { return watch(*options); };
});

}  // namespace
}  // namespace weir::tool
