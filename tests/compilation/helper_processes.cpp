// SPDX-License-Identifier: Apache-2.0
#include "helper_processes.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace weir::test {
namespace {

namespace fs = std::filesystem;

/// "" if the process has ended meanwhile.
std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t parent_of(pid_t process) {
  const std::string text = status_of(process, "PPid");
  return text.empty() ? -1 : std::stoi(text);
}

}  // namespace

bool comes_true(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

HelperProcesses::HelperProcesses() {
  static std::atomic<int> number{0};
  mark_ = std::to_string(getpid()) + "." + std::to_string(number++);
  setenv("WEIR_TEST_MARK", mark_.c_str(), 1);
}

HelperProcesses::~HelperProcesses() {
  unsetenv("WEIR_TEST_MARK");
}

std::vector<pid_t> HelperProcesses::all() const {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const std::string environment = '\0' + read_all(entry->path() / "environ");
    const std::string variable = std::string(1, '\0') + "WEIR_TEST_MARK=" + mark_ + '\0';
    if (read_all(entry->path() / "comm") == "weir-codegen\n" &&
        environment.find(variable) != environment.npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

pid_t HelperProcesses::supervisor() const {
  const std::vector<pid_t> processes = all();
  for (const pid_t process : processes)
    if (std::ranges::find(processes, parent_of(process)) == processes.end()) return process;
  return -1;
}

std::vector<pid_t> HelperProcesses::workers() const {
  std::vector<pid_t> processes = all();
  const std::vector<pid_t> known = processes;
  std::erase_if(processes,
                [&](pid_t process) { return std::ranges::find(known, parent_of(process)) == known.end(); });
  return processes;
}

std::string status_of(pid_t process, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  return "";
}

}  // namespace weir::test
