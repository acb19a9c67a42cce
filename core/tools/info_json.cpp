// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <weir/driver.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "info_report.hpp"

namespace weir::tool {
namespace {

using json = nlohmann::ordered_json;

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}", WEIR_ABI_MAJOR(version), WEIR_ABI_MINOR(version));
}

json device_json(const std::string& driver, std::uint32_t index, const weir_device_info& info) {
  json targets = json::array();
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(info.code_target_count, WEIR_MAX_CODE_TARGETS); ++i)
    targets.push_back({{"format", info.code_targets[i].format}, {"target", info.code_targets[i].target}});
  json capabilities = json::object();
  for (const CapabilityWords& capability : all_capabilities())
    capabilities[capability.key] = (info.capabilities & capability.bit) != 0;
  std::string uuid;
  for (const std::uint8_t byte : info.uuid) uuid += fmt::format("{:02x}", byte);
  if (uuid.find_first_not_of('0') == uuid.npos) uuid.clear();
  return {
      {"device", fmt::format("{}:{}", driver, index)},
      {"name", info.name},
      {"vendor", info.vendor},
      {"kind", kind_word(info.kind)},
      {"runtime_version", info.driver_version},
      {"location", info.location},
      {"uuid", uuid},
      {"total_memory_bytes", info.total_memory},
      {"memory_bandwidth_bytes_per_second", info.memory_bandwidth},
      {"memory_alignment_bytes", info.memory_alignment},
      {"multiprocessors", info.multiprocessors},
      {"lanes", info.lanes},
      {"max_block_threads", info.max_block_threads},
      {"max_block", info.max_block},
      {"max_grid", info.max_grid},
      {"max_shared_bytes", info.max_shared_bytes},
      {"max_argument_bytes", info.max_argument_bytes},
      {"min_priority", info.min_priority},
      {"max_priority", info.max_priority},
      {"recommended_streams", info.recommended_streams},
      {"max_threads_per_multiprocessor", info.max_threads_per_multiprocessor},
      {"max_blocks_per_multiprocessor", info.max_blocks_per_multiprocessor},
      {"shared_bytes_per_multiprocessor", info.shared_bytes_per_multiprocessor},
      {"max_registers_per_multiprocessor", info.max_registers_per_multiprocessor},
      {"max_registers_per_block", info.max_registers_per_block},
      {"argument_style", info.argument_style == WEIR_ARGUMENT_BUFFER ? "buffer" : "address"},
      {"code_targets", targets},
      {"target_features", info.target_features},
      {"capabilities", capabilities},
      {"notes", info.notes},
  };
}

json communicator_json(const weir_communicator_info& info) {
  json capabilities = json::object();
  for (const CapabilityWords& capability : all_communicator_capabilities())
    capabilities[capability.key] = (info.capabilities & capability.bit) != 0;
  json direct = json::array();
  for (std::uint32_t i = 0; i < info.direct_count; ++i) direct.push_back(info.direct[i]);
  return {{"library_version", info.library_version},
          {"capabilities", capabilities},
          {"direct", direct},
          {"notes", info.notes}};
}

json candidate_json(const Candidate& candidate) {
  json driver = {
      {"name", candidate.name},
      {"status", status_key(candidate.status)},
      {"fate", status_key(candidate.status)},  // the former name of "status", until 0.3
      {"reason", candidate.reason},
      {"remedy", candidate.remedy},
      {"note", candidate.note},
      {"probed", probe_key(candidate.probed)},
      {"description", candidate.description},
      {"manifest", candidate.manifest.string()},
      {"library", candidate.library.string()},
  };
  driver["layers"] = json::array();
  if (const auto& identity = candidate.identity) {
    driver["version"] = identity->version;
    driver["vendor"] = identity->vendor;
    driver["abi_version"] = version_text(identity->abi_version);
    for (const LayerIdentity& layer : identity->layers)
      driver["layers"].push_back(
          {{"name", layer.name}, {"options", layer.options}, {"library", layer.library}});
  }
  driver["changes"] = json::array();
  for (const SideEffect& effect : candidate.effects)
    driver["changes"].push_back({{"change", key_of(effect.change)},
                                 {"during", key_of(effect.during)},
                                 {"name", effect.name},
                                 {"before", effect.before},
                                 {"after", effect.after},
                                 {"refused", harms_others(effect)},
                                 {"words", describe(effect)}});
  if (candidate.kind == PluginKind::communicator) {
    if (candidate.communicator_info) driver["properties"] = communicator_json(*candidate.communicator_info);
    return driver;
  }
  driver["devices"] = json::array();
  for (std::uint32_t index = 0; index < candidate.devices.size(); ++index)
    driver["devices"].push_back(device_json(candidate.name, index, candidate.devices[index]));
  return driver;
}

}  // namespace

std::string info_json(std::span<const SearchFolder> folders, std::span<const Candidate> candidates,
                      const CacheState& cache) {
  json report = {
      {"weir_version", WEIR_VERSION},     {"abi_version", version_text(WEIR_ABI_CURRENT)},
      {"usable", any_usable(candidates)}, {"folders", json::array()},
      {"drivers", json::array()},         {"communicator_folders", json::array()},
      {"communicators", json::array()},
  };
  for (const SearchFolder& folder : folders)
    report[folder.kind == PluginKind::driver ? "folders" : "communicator_folders"].push_back(
        {{"path", folder.path.string()},
         {"origin", to_string(folder.origin, folder.kind)},
         {"searched", folder.ignored.empty()},
         {"state", folder_state(folder, candidates)}});
  for (const Candidate& candidate : candidates)
    report[candidate.kind == PluginKind::driver ? "drivers" : "communicators"].push_back(
        candidate_json(candidate));
  report["cache"] = {{"folder", cache.folder}, {"used", cache.why_off.empty()}, {"reason", cache.why_off}};
  // Text from drivers may be invalid UTF-8; replacing invalid bytes keeps the output valid JSON.
  return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace weir::tool
