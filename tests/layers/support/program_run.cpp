// SPDX-License-Identifier: Apache-2.0
#include "support/program_run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace weir::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::map<std::string, std::int64_t> numbers_in(const fs::path& path) {
  std::ifstream file(path);
  std::map<std::string, std::int64_t> numbers;
  std::string name;
  for (std::int64_t number = 0; file >> name >> number;) numbers[name] = number;
  return numbers;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

}  // namespace

ProgramRun::ProgramRun(std::string program) : program_(std::move(program)) {
  std::string made = (fs::temp_directory_path() / "weir-sweep-XXXXXX").string();
  if (!mkdtemp(made.data())) throw std::runtime_error("cannot make a folder like " + made);
  folder_ = made;
  fs::create_directory(folder_ / "code");
}

ProgramRun::~ProgramRun() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Ended ProgramRun::start(const std::string& filter, std::vector<std::string> arguments,
                        const std::string& layers, const std::string& counts) const {
  arguments.insert(arguments.begin(), program_);
  std::vector<std::string> environment{
      "WEIR_LAYERS=" + layers, "WEIR_KEPT_CODE=" + (folder_ / "code").string(),
      "WEIR_COUNTS_AT_END=" + counts, "GTEST_FILTER=" + filter,
      "WEIR_TEST_PATIENCE=2"};  // for kernels that wait because a call failed
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(environment, [&](const std::string& own) { return own.starts_with(name); }))
      environment.emplace_back(text);
  }
  const std::vector<char*> raw_arguments = pointers(arguments), raw_environment = pointers(environment);

  std::array<int, 2> pipe_ends{};  // closed by exec, so that children of other threads do not hold them open
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const Clock::time_point began = Clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {  // other threads exist: only async-signal-safe calls
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    alarm(max_seconds);  // kept by exec: a signal ends a program that hangs
    execve(program_.c_str(), raw_arguments.data(), raw_environment.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  Ended ended;
  std::array<char, 4096> buffer{};
  for (ssize_t count; (count = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    ended.printed.append(buffer.data(), static_cast<std::size_t>(count));
  close(pipe_ends[0]);
  waitpid(child, &ended.status, 0);
  ended.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return ended;
}

std::vector<std::string> ProgramRun::cases(const std::string& filter) const {
  const Ended listed = start(filter, {"--gtest_list_tests"}, "", "");
  if (listed.status != 0) throw std::runtime_error(program_ + " lists no tests:\n" + listed.printed);
  std::vector<std::string> found;
  std::istringstream lines(listed.printed);
  std::string suite;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find("  # "));
    if (!line.starts_with("  "))
      suite = name;
    else if (std::string test = suite + name.substr(2); test.find("DISABLED_") == test.npos)
      found.push_back(std::move(test));
  }
  if (found.empty()) throw std::runtime_error(program_ + " has no tests like " + filter);
  return found;
}

Ended ProgramRun::run(const std::string& filter, int rounds, const std::string& fault) const {
  return run_counted(filter, {"--gtest_brief=1", "--gtest_repeat=" + std::to_string(rounds)}, fault);
}

Ended ProgramRun::run_with(const std::vector<std::string>& arguments, const std::string& fault) const {
  return run_counted("", arguments, fault);
}

Ended ProgramRun::run_counted(const std::string& filter, const std::vector<std::string>& arguments,
                              const std::string& fault) const {
  const fs::path counts = folder_ / ("counts" + std::to_string(++runs_));
  const std::string layers = "validate," + (fault.empty() ? "" : "fault:" + fault + ",") + "count";
  Ended ended = start(filter, arguments, layers, counts);
  constexpr std::string_view calls = "calls.", live = "live.", held = "held.";
  for (const auto& [name, number] : numbers_in(counts)) {
    if (name.starts_with(calls)) ended.calls[name.substr(calls.size())] = static_cast<std::uint64_t>(number);
    if (name.starts_with(live)) ended.left[name.substr(live.size())] += number;
    if (name.starts_with(held)) ended.left[name.substr(held.size())] -= number;
  }
  std::error_code ignored;
  fs::remove(counts, ignored);
  return ended;
}

}  // namespace weir::test
