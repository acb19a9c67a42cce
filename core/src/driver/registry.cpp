// SPDX-License-Identifier: Apache-2.0
#include "driver/registry.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "driver/layers.hpp"
#include "driver/manifest.hpp"
#include "driver/probe.hpp"
#include "driver/prober.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Sorted, so that the result does not depend on the file system.
std::vector<fs::path> manifests_in(const fs::path& folder) {
  std::vector<fs::path> manifests;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name.extension() == ".json" && name.native().front() != '.') manifests.push_back(entry->path());
  }
  std::sort(manifests.begin(), manifests.end());
  return manifests;
}

const Candidate* find_usable(const std::vector<Candidate>& candidates, const std::string& name) {
  const auto same = [&](const Candidate& other) {
    return other.fate == DriverFate::usable && other.name == name;
  };
  const auto found = std::find_if(candidates.begin(), candidates.end(), same);
  return found == candidates.end() ? nullptr : &*found;
}

Candidate examine(const fs::path& manifest_file, const std::vector<Candidate>& earlier, Prober& prober) {
  Candidate candidate;
  candidate.name = manifest_file.stem().string();
  candidate.manifest = manifest_file;
  try {
    const Manifest manifest = check_manifest(candidate);
    if (const Candidate* first = find_usable(earlier, candidate.name))
      throw Refusal{DriverFate::shadowed,
                    fmt::format("the driver of the same name from {} comes first", first->manifest.string()),
                    "nothing, unless this one is wanted: then put its folder first in WEIR_DRIVER_PATH"};
    check_library(candidate);
    prober.admit(candidate, manifest);
    load_driver(candidate, manifest);
    put_layers(*candidate.driver);
    candidate.fate = DriverFate::usable;
  } catch (const LayersError&) {
    throw;
  } catch (const Refusal& refusal) {
    candidate.fate = refusal.fate;
    candidate.reason = refusal.reason;
    candidate.remedy = refusal.remedy;
    candidate.devices.clear();
  } catch (const std::exception& error) {
    candidate.fate = DriverFate::broken;
    candidate.reason = fmt::format("examining it failed: {}", error.what());
    candidate.remedy = "reinstall the driver";
    candidate.devices.clear();
  }
  return candidate;
}

}  // namespace

std::string_view to_string(DriverFate fate) noexcept {
  switch (fate) {
    case DriverFate::usable:
      return "usable";
    case DriverFate::no_device:
      return "no device";
    case DriverFate::no_vendor_library:
      return "vendor library missing";
    case DriverFate::wrong_architecture:
      return "wrong architecture";
    case DriverFate::abi_refused:
      return "ABI refused";
    case DriverFate::untrusted:
      return "not trusted";
    case DriverFate::shadowed:
      return "shadowed";
    case DriverFate::broken:
      return "broken";
  }
  return "broken";
}

std::vector<Candidate> find_drivers(std::span<const fs::path> folders, const ProbePolicy& policy) {
  Prober prober(policy);
  std::vector<Candidate> candidates;
  std::vector<fs::path> searched;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || std::find(searched.begin(), searched.end(), real) != searched.end()) continue;
    searched.push_back(real);
    for (const fs::path& manifest : manifests_in(real))
      candidates.push_back(examine(manifest, candidates, prober));
  }
  prober.finish(candidates);
  return candidates;
}

std::string forget_probes() {
  const fs::path file = current_probe_policy().verdicts;
  if (file.empty() || unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fmt::format("{} cannot be removed: {}", file.string(), strerrordesc_np(errno));
}

const std::vector<Candidate>& drivers() {
  // Never destroyed: handles that outlive main still reach their driver.
  static const auto& found =
      *new std::vector<Candidate>(find_drivers(driver_search_path(), current_probe_policy()));
  return found;
}

}  // namespace weir
