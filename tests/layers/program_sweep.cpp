// SPDX-License-Identifier: Apache-2.0
// Runs a GoogleTest program again and again and makes another call of the driver fail each time.
//
//   layers_program_sweep PROGRAM GTEST_FILTER
//
// Whatever fails, the program ends by itself, with 0 or 1; at most one of its tests fails, and the failure
// carries the words of the fault layer, so that no result is wrong without a word; and the checks that stand
// above the faults have nothing to report: what comes after a failure uses no object that is gone. Of every
// third function that the program calls the call in the middle is tried; with WEIR_SWEEP=all in the
// environment, all calls of all functions.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = 0;
  std::string printed;
};

constexpr unsigned seconds = 120;  // some tests wait 30 for what never comes

Ended run(const std::string& program, const std::string& filter, const std::string& layers) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    setenv("WEIR_LAYERS", layers.c_str(), 1);
    setenv("GTEST_FILTER", filter.c_str(), 1);
    alarm(seconds);  // kept by exec: a program that hangs ends by a signal
    execl(program.c_str(), program.c_str(), "--gtest_brief=1", nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  Ended ended;
  std::array<char, 4096> buffer{};
  for (ssize_t count; (count = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    ended.printed.append(buffer.data(), static_cast<std::size_t>(count));
  close(pipe_ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

/// Functions and how often they are called, when nothing fails.
std::vector<std::pair<std::string, unsigned long>> calls_of(const std::string& program,
                                                            const std::string& filter) {
  const fs::path file = fs::temp_directory_path() / ("weir-calls-" + std::to_string(getpid()));
  const Ended ended = run(program, filter, "validate,count:file=" + file.string());
  std::ifstream counts(file);
  std::vector<std::pair<std::string, unsigned long>> calls;
  std::string slot;
  for (unsigned long count = 0; counts >> slot >> count;) calls.emplace_back(slot, count);
  fs::remove(file);
  if (ended.status != 0 || calls.empty())
    throw std::runtime_error(program + " does not pass when nothing fails:\n" + ended.printed);
  return calls;
}

std::size_t occurrences(std::string_view text, std::string_view of) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(of, at)) != text.npos; at += of.size()) ++count;
  return count;
}

/// What is wrong with how a run ended; empty when nothing is.
std::string complaint(const Ended& ended) {
  if (WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM)
    return "it did not end within " + std::to_string(seconds) + " seconds";
  if (WIFSIGNALED(ended.status)) return "it ended by signal " + std::to_string(WTERMSIG(ended.status));
  const int code = WEXITSTATUS(ended.status);
  if (code != 0 && code != 1) return "it ended with " + std::to_string(code);
  if (ended.printed.find("weir: validate: ") != std::string::npos) return "the checks above the fault object";
  // With --gtest_brief a test that failed has one such line with its time.
  const std::size_t failed = occurrences(ended.printed, " ms)\n");
  if (failed > 1) return std::to_string(failed) + " tests failed of one failure";
  if (failed == 1 && ended.printed.find("fault layer: ") == std::string::npos)
    return "the failure was lost, and a result is wrong";
  if ((failed == 1) != (code == 1)) return "it ended with " + std::to_string(code);
  return "";
}

int sweep(const std::string& program, const std::string& filter) {
  const char* const word = std::getenv("WEIR_SWEEP");
  const bool all = word && std::string_view(word) == "all";
  unsigned long tried = 0, noticed = 0, wrong = 0, slot_number = 0;
  for (const auto& [slot, count] : calls_of(program, filter)) {
    if (!all && slot_number++ % 3 != 0) continue;
    const unsigned long first = all ? 1 : (count + 1) / 2, last = all ? count : first;
    for (unsigned long n = first; n <= last; ++n, ++tried) {
      const std::string rule = "call=" + slot + ":nth=" + std::to_string(n);
      const Ended ended = run(program, filter, "validate,fault:" + rule);
      noticed += ended.status != 0;
      const std::string what = complaint(ended);
      if (what.empty()) continue;
      ++wrong;
      std::printf("WEIR_LAYERS=validate,fault:%s: %s\n%s\n", rule.c_str(), what.c_str(),
                  ended.printed.c_str());
    }
  }
  std::printf(
      "%s: %lu calls were made to fail, %lu times a test heard of it, %lu times something was wrong\n",
      fs::path(program).filename().c_str(), tried, noticed, wrong);
  return tried == 0 || noticed == 0 || wrong != 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "layers_program_sweep PROGRAM GTEST_FILTER\n");
    return 2;
  }
  try {
    return sweep(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "layers_program_sweep: %s\n", error.what());
    return 2;
  }
}
