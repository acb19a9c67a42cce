// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "cpu_target.hpp"
#include "lazy_value.hpp"
#include "object.hpp"

namespace weir::cpu {
namespace {

constexpr unsigned max_devices = 16;
constexpr unsigned max_threads = 1024;

unsigned cores_by_affinity() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    std::vector<cpu_set_t> set(static_cast<std::size_t>(cpus) / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof set[0];
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    if (const int count = CPU_COUNT_S(bytes, set.data()); count > 0) return static_cast<unsigned>(count);
  }
  return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// Every folder of this process's control groups that may contain a limit for `controller`, from the leaf to
/// the root.
std::vector<std::string> group_folders(const std::string& controller) {
  std::vector<std::string> folders;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string root;
    if (controllers == ",,")
      root = "/sys/fs/cgroup";
    else if (controllers.find("," + controller + ",") != std::string::npos)
      root = "/sys/fs/cgroup/" + controller;
    else
      continue;
    // Inside a container the path may name a folder outside of the container; the container's limits are then
    // at the root.
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/')))
      folders.push_back(root + path);
    folders.push_back(root);
  }
  return folders;
}

unsigned cores_by_group(unsigned cores) {
  for (const std::string& folder : group_folders("cpu")) {
    double quota = 0, period = 0;
    std::istringstream unified(first_line(folder + "/cpu.max"));
    if (!(unified >> quota >> period)) {
      quota = std::atof(first_line(folder + "/cpu.cfs_quota_us").c_str());
      period = std::atof(first_line(folder + "/cpu.cfs_period_us").c_str());
    }
    if (quota > 0 && period > 0 && quota / period < cores)
      cores = std::max(1u, static_cast<unsigned>(quota / period + 0.999));
  }
  return cores;
}

std::uint64_t memory_limit() {
  std::uint64_t limit =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& folder : group_folders("memory"))
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"})
      if (const std::uint64_t bytes = std::strtoull(first_line(folder + file).c_str(), nullptr, 10))
        limit = std::min(limit, bytes);
  return limit;
}

std::string cpuinfo_field(const char* field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

/// The text of a setting; null if it is unset or empty.
const char* setting(const char* name) {
  const char* text = secure_getenv(name);
  return text && *text ? text : nullptr;
}

/// Adds the fault of a setting to `refusal`.
void refuse_setting(const char* name, std::string_view text, const std::string& expected,
                    std::string& refusal) {
  if (!refusal.empty()) refusal += "; ";
  refusal += std::string(name) + " is '" + std::string(text.substr(0, 64)) + "'; expected " + expected +
             "; correct it or unset it";
}

/// Reads a number into `out`, or stores the fault in `refusal`.
void read_setting(const char* name, unsigned max_value, unsigned& out, std::string& refusal) {
  const char* text = setting(name);
  if (!text) return;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && std::strlen(text) < 9 && value >= 1 &&
      value <= max_value) {
    out = static_cast<unsigned>(value);
    return;
  }
  refuse_setting(name, text, max_value == 1 ? "1" : "a whole number from 1 to " + std::to_string(max_value),
                 refusal);
}

Machine look_at_machine() {
  Machine machine;
  machine.cores = cores_by_group(cores_by_affinity());
  machine.memory = memory_limit();
  machine.name = cpuinfo_field("model name");
  if (machine.name.empty()) machine.name = "x86-64 processor";
  machine.vendor = cpuinfo_field("vendor_id");
  machine.threads = std::min(machine.cores, max_threads);
  read_setting("WEIR_CPU_THREADS", max_threads, machine.threads, machine.refusal);
  read_setting("WEIR_CPU_DEVICES", max_devices, machine.devices, machine.refusal);
  read_setting("WEIR_CPU_PERF_MAP", 1, machine.perf_map, machine.refusal);
  machine.target = host_target();
  if (const char* target = setting("WEIR_CPU_TARGET")) {
    if (executes(target))
      machine.target = target;
    else
      refuse_setting("WEIR_CPU_TARGET", target, "one of " + executed_targets(), machine.refusal);
  }
  return machine;
}

}  // namespace

const Machine& Machine::get() {
  static constinit LazyValue<Machine> machine;
  return machine.get(look_at_machine);
}

const Machine& Machine::checked() {
  const Machine& machine = get();
  if (!machine.refusal.empty()) fail(WEIR_ERROR_INVALID, "%s", machine.refusal.c_str());
  return machine;
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::uint64_t kibibytes; file >> key >> kibibytes; file.ignore(64, '\n'))
    if (key == "MemAvailable:") return kibibytes * 1024;
  return Machine::get().memory;
}

}  // namespace weir::cpu
