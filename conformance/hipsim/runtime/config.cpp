// SPDX-License-Identifier: Apache-2.0
#include "runtime/config.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "isa/code/disassembler.hpp"
#include "isa/code/program.hpp"

namespace weir::hipsim {
namespace {

using nlohmann::json;

/// Rejects names that are not in the list, so that misspelt ones are reported.
void require_names(const json& object, const std::string& where,
                   std::initializer_list<std::string_view> names) {
  if (!object.is_object()) throw std::runtime_error(where + " must be an object");
  for (const auto& [key, value] : object.items()) {
    bool known = false;
    for (std::string_view name : names) known |= key == name;
    if (!known) throw std::runtime_error(where + " has an unknown member \"" + key + "\"");
  }
}

template <class T>
void take(const json& object, const char* name, T& value) {
  if (!object.contains(name)) return;
  try {
    value = object.at(name).get<T>();
  } catch (const json::exception&) {
    throw std::runtime_error(fmt::format("\"{}\" has the wrong type: {}", name, object.at(name).dump()));
  }
}

DeviceConfig read_device(const json& object) {
  require_names(object, "a device",
                {"arch", "name", "compute_units", "memory_mib", "wave_size", "xnack", "sramecc", "integrated",
                 "memory_pools", "cooperative_launch"});
  DeviceConfig d;
  take(object, "arch", d.architecture);
  const unsigned generation = generation_of(d.architecture);
  if (generation < 9)
    throw std::runtime_error("\"arch\" is \"" + d.architecture +
                             "\"; expected a name such as gfx90a or gfx1100");
  d.name = "Simulated " + d.architecture;
  d.wave_size = generation >= 10 ? 32 : 64;
  Disassembler(d.architecture,
               d.wave_size);  // rejects architectures unknown to LLVM now, not at the first launch
  d.sramecc = d.architecture == "gfx90a" || d.architecture == "gfx942" || d.architecture == "gfx950";
  take(object, "name", d.name);
  take(object, "compute_units", d.compute_units);
  take(object, "wave_size", d.wave_size);
  take(object, "xnack", d.xnack);
  take(object, "sramecc", d.sramecc);
  take(object, "integrated", d.integrated);
  take(object, "memory_pools", d.memory_pools);
  take(object, "cooperative_launch", d.cooperative_launch);
  std::uint64_t mebibytes = d.memory_bytes >> 20;
  take(object, "memory_mib", mebibytes);
  d.memory_bytes = mebibytes << 20;
  if (d.wave_size != 32 && d.wave_size != 64) throw std::runtime_error("\"wave_size\" must be 32 or 64");
  return d;
}

FailureConfig read_failure(const json& object) {
  require_names(object, "a failure", {"call", "nth", "error", "times", "late"});
  FailureConfig f;
  take(object, "call", f.call);
  take(object, "nth", f.nth);
  take(object, "error", f.error);
  take(object, "times", f.times);
  take(object, "late", f.late);
  if (f.call.empty() || f.error == 0 || f.nth == 0)
    throw std::runtime_error("a failure needs \"call\", \"error\" (not 0) and \"nth\" (from 1)");
  return f;
}

}  // namespace

std::string DeviceConfig::target_name() const {
  std::string text = architecture;
  const bool has_sramecc = architecture == "gfx906" || architecture == "gfx908" || architecture == "gfx90a" ||
                           architecture == "gfx942" || architecture == "gfx950";
  if (has_sramecc) text += sramecc ? ":sramecc+" : ":sramecc-";
  if (generation_of(architecture) == 9) text += xnack ? ":xnack+" : ":xnack-";
  return text;
}

Config parse_config(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) throw std::runtime_error("is not JSON");
  require_names(object, "the configuration",
                {"hip_version", "devices", "missing", "fail", "races", "quarantine_mib", "instruction_limit",
                 "stack_bytes", "threads", "one_lock", "report", "code_objects"});
  Config c;
  std::string version;
  take(object, "hip_version", version);
  if (!version.empty() &&
      std::sscanf(version.c_str(), "%d.%d.%d", &c.version_major, &c.version_minor, &c.version_patch) < 2)
    throw std::runtime_error("\"hip_version\" is \"" + version + "\"; expected for example 6.3.0");
  if (object.contains("devices")) {
    c.devices.clear();
    for (const json& device : object.at("devices")) c.devices.push_back(read_device(device));
  }
  take(object, "missing", c.missing);
  if (object.contains("fail"))
    for (const json& failure : object.at("fail")) c.failures.push_back(read_failure(failure));
  std::string races = "report";
  take(object, "races", races);
  if (races != "off" && races != "report" && races != "error")
    throw std::runtime_error("\"races\" is \"" + races + "\"; expected off, report or error");
  c.races = races == "off" ? RaceCheck::off : races == "error" ? RaceCheck::error : RaceCheck::report;
  std::uint64_t quarantine = c.quarantine_bytes >> 20;
  take(object, "quarantine_mib", quarantine);
  c.quarantine_bytes = quarantine << 20;
  take(object, "instruction_limit", c.instruction_limit);
  take(object, "stack_bytes", c.stack_bytes);
  take(object, "threads", c.threads);
  take(object, "one_lock", c.one_lock);
  take(object, "report", c.report);
  take(object, "code_objects", c.code_objects);
  return c;
}

Config load_config() {
  const char* path = std::getenv("HIPSIM_CONFIG");
  if (!path || !*path) return {};
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("HIPSIM_CONFIG names {}, which cannot be read", path));
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return parse_config(text.str());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("HIPSIM_CONFIG: {}: {}", path, error.what()));
  }
}

}  // namespace weir::hipsim
