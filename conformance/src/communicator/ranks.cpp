// SPDX-License-Identifier: Apache-2.0
#include "communicator/ranks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

namespace weir::conformance {
namespace {

constexpr const char* report_mark = "@weir-rank ";

const Requirement& requirement_of(const std::string& id) {
  for (const Requirement& one : requirements())
    if (one.id == id) return one;
  throw std::runtime_error("there is no requirement " + id);
}

/// The work of the rank, from joining to leaving. Returns the finding, or an empty string.
std::string run_one(const Requirement& requirement, Rank& self) {
  std::string finding;
  try {
    if (requirement.setting.joins) self.group = self.join();
    requirement.on_rank(self);
  } catch (const std::exception& unmet) {
    finding = unmet.what();
  }
  if (self.group) {
    const weir_result result = self.table.group_leave(self.group, &self.status);
    if (result != WEIR_OK && finding.empty()) finding = "group_leave failed: " + self.message();
  }
  return finding;
}

std::map<std::uint32_t, std::string> run_threads(const Requirement& requirement) {
  const std::uint32_t size = ranks_under_test().ranks;
  std::vector<std::string> findings(size);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Rank self(rank, size, requirement.setting, requirement.id);
        findings[rank] = run_one(requirement, self);
      });
  }
  std::map<std::uint32_t, std::string> reports;
  for (std::uint32_t rank = 0; rank < size; ++rank) reports[rank] = findings[rank];
  return reports;
}

/// Starts the command, which ends with this process, and returns its output.
std::string output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execvp(arguments[0], arguments.data());
    const std::string words_of_error =
        std::string("cannot run ") + arguments[0] + ": " + std::strerror(errno) + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, words_of_error.data(), words_of_error.size());
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  for (char text[4096];;) {
    const ssize_t got = read(ends[0], text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(text, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

std::map<std::uint32_t, std::string> run_processes(const Requirement& requirement) {
  const RanksUnderTest& under = ranks_under_test();
  std::vector<std::string> words;
  std::istringstream launcher(under.launcher);
  for (std::string word; launcher >> word;) words.push_back(word);
  const std::filesystem::path file = under.file.manifest.empty() ? under.file.library : under.file.manifest;
  for (const std::string& word :
       {std::string("-np"), std::to_string(under.ranks),
        std::filesystem::read_symlink("/proc/self/exe").string(), std::string("--communicator"),
        file.string(), std::string("--ranks"), std::to_string(under.ranks), std::string("--patience"),
        std::to_string(under.patience.count()), std::string("--rank-of"), requirement.id})
    words.push_back(word);
  const std::string output = output_of(words);
  std::map<std::uint32_t, std::string> reports;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(report_mark);
    if (at == line.npos) continue;
    std::istringstream report(line.substr(at + std::strlen(report_mark)));
    std::uint32_t rank = 0;
    std::string finding;
    report >> rank;
    std::getline(report >> std::ws, finding);
    reports[rank] = finding;
  }
  for (std::uint32_t rank = 0; rank < under.ranks; ++rank)
    if (!reports.contains(rank) && !(requirement.setting.dies && rank == 1))
      reports[rank] = "its process reported nothing; the launcher printed: " + output;
  return reports;
}

}  // namespace

weir_group_options Rank::options(const std::string& name) {
  weir_group_options made{};
  made.struct_size = sizeof made;
  made.rank = rank;
  made.size = size;
  made.validate = setting.validate;
  made.limit = static_cast<std::uint64_t>(setting.limit_ms) * 1'000'000;
  kept_ = "conformance " + address + name;
  made.address = ranks_are_threads() ? kept_.c_str() : nullptr;
  return made;
}

weir_group Rank::join(const std::string& name) {
  const weir_group_options wanted = options(name);
  weir_group joined = nullptr;
  expect_ok(table.group_join(&wanted, &joined, &status), "group_join");
  expect(joined != nullptr, "group_join returned WEIR_OK and no group");
  return joined;
}

void Rank::leave(weir_group joined) {
  expect_ok(table.group_leave(joined, &status), "group_leave");
}

void Rank::expect(bool condition, const std::string& words) const {
  if (!condition) throw Unmet(words);
}

void Rank::expect_ok(weir_result result, const char* call) const {
  if (result != WEIR_OK)
    throw Unmet(std::string(call) + " returned " + communicator_result_name(result) + ": " + status.message);
}

void Rank::expect_result(weir_result result, int wanted, const char* call) const {
  if (static_cast<int>(result) != wanted)
    throw Unmet(std::string(call) + " returned " + communicator_result_name(result) + "; expected " +
                communicator_result_name(static_cast<weir_result>(wanted)) +
                (result == WEIR_OK ? "" : std::string(". Its message: ") + status.message));
  expect(status.message[0] != '\0', std::string(call) + " failed without a message");
}

void Rank::expect_rank_error(weir_result result, const char* call, std::uint32_t culprit) const {
  expect_result(result, WEIR_ERROR_RANK, call);
  const std::string name = "rank " + std::to_string(culprit);
  expect(message().find(name) != std::string::npos,
         std::string(call) + " failed with the message '" + message() + "'; expected one that names " + name);
}

void Rank::expect_group_works() {
  std::vector<std::int32_t> values(5, 1);
  all_reduce(values, WEIR_I32, WEIR_SUM);
  expect(values == std::vector<std::int32_t>(5, static_cast<std::int32_t>(size)),
         "the sum of a later call is wrong");
}

void run_on_ranks(const std::string& id) {
  const Requirement& requirement = requirement_of(id);
  const RanksUnderTest& under = ranks_under_test();
  if (under.ranks < requirement.setting.min_ranks)
    throw Skipped("it needs " + std::to_string(requirement.setting.min_ranks) + " ranks; --ranks is " +
                  std::to_string(under.ranks));
  if (requirement.setting.dies && ranks_are_threads())
    throw Unsupported("its ranks are threads, which cannot be killed one at a time");
  std::string findings;
  for (const auto& [rank, finding] :
       ranks_are_threads() ? run_threads(requirement) : run_processes(requirement))
    if (!finding.empty()) findings += "rank " + std::to_string(rank) + ": " + finding + "\n";
  if (!findings.empty()) throw Unmet(findings);
}

int run_rank(const std::string& id) {
  const Requirement& requirement = requirement_of(id);
  const weir_communicator_info& info = communicator_info();
  Rank self(info.launched_rank, info.launched_size ? info.launched_size : 1, requirement.setting,
            requirement.id);
  std::string finding = run_one(requirement, self);
  std::ranges::replace(finding, '\n', ' ');
  const std::string line = "\n" + (report_mark + std::to_string(self.rank)) + " " + finding + "\n";
  return write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace weir::conformance
