// SPDX-License-Identifier: Apache-2.0
// Finds drivers, loads them, and keeps what became of each candidate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/drivers.hpp>
#include <weir/export.hpp>

#include "driver/gpu_driver.hpp"
#include "driver/side_effect.hpp"

namespace weir {

/// What became of a candidate driver. Each has its own plain sentence and remedy in Candidate.
enum class DriverStatus : std::uint8_t {
  usable,
  no_device,          ///< its runtime is there, a device is not; not an error
  no_vendor_library,  ///< e.g. libcuda.so.1 is not installed; not an error
  wrong_architecture,
  abi_refused,
  untrusted,  ///< manifest or library may be written by another user
  shadowed,   ///< a driver of the same name was found earlier in the search order
  broken,     ///< anything else: missing file or symbol, malformed manifest, an exception, an error
};
WEIR_API std::string_view to_string(DriverStatus status) noexcept;

/// Where it was found out whether a driver can be loaded without harm.
enum class ProbePlace : std::uint8_t {
  nowhere,       ///< it did not get so far
  child,         ///< in a process of its own, now
  before,        ///< in a process of its own, by an earlier process that kept the verdict
  this_process,  ///< here; Candidate::note says why
};

/// A layer around a driver.
struct LayerIdentity {
  std::string name, options, library;
};

/// A driver's own description of itself.
struct DriverIdentity {
  std::string version, vendor;
  std::uint32_t abi_version = 0;
  std::vector<LayerIdentity> layers;  ///< the one nearest to the program first
};

/// One candidate: a manifest that was found, and what became of it.
struct Candidate {
  std::string name;  ///< from the manifest, or the file's stem when it could not be read
  std::filesystem::path manifest;
  std::string description;        ///< from the manifest
  std::filesystem::path library;  ///< absolute; empty when the manifest could not be read
  DriverStatus status = DriverStatus::broken;
  std::string reason;  ///< one sentence: what was expected, what was found
  std::string remedy;  ///< one sentence: what to do; empty when usable
  std::string note;    ///< what else a user may want to know of it, or empty
  ProbePlace probed = ProbePlace::nowhere;
  std::vector<SideEffect> effects;         ///< changes to its process that its trial found
  std::optional<DriverIdentity> identity;  ///< when the table was accepted
  std::unique_ptr<GpuDriver> driver;       ///< non-null when the table was accepted in this process
  std::vector<weir_device_info> devices;   ///< when usable
};

/// Why a folder is in the search path.
enum class SearchOrigin : std::uint8_t { environment, user, install, system };
WEIR_API std::string_view to_string(SearchOrigin origin) noexcept;

/// A folder of the search path, or an entry that was left out of it.
struct SearchFolder {
  std::filesystem::path path;
  SearchOrigin origin = SearchOrigin::system;
  std::string ignored;  ///< why it is not searched; empty when it is
};

/// The search path with the entries that were left out, for `weir info`.
WEIR_API std::vector<SearchFolder> driver_search_folders();

struct ProbePolicy;

/// Probes everything in `folders`, and loads what may be loaded. Never throws for a bad candidate.
std::vector<Candidate> find_drivers(std::span<const std::filesystem::path> folders,
                                    const ProbePolicy& policy);

/// The same candidates, each judged and described by a process of its own, so that no driver is loaded here
/// and `Candidate::driver` is null. Where no such process can be started, the driver is loaded here and a
/// note says so. Throws LayersError when WEIR_LAYERS is wrong.
std::vector<Candidate> inspect_drivers(std::span<const std::filesystem::path> folders,
                                       const ProbePolicy& policy);
/// The same for this process's search path and policy, for `weir info`.
WEIR_API std::vector<Candidate> inspect_drivers();

/// Forgets what was found out about drivers, so that all are probed again; to be called before any is looked
/// for. Returns why the file cannot be removed, or an empty string.
WEIR_API std::string forget_probes();

/// The process's drivers, found on first use (thread-safe) and kept until the process ends. Throws
/// Error{system} in a child that was forked while another thread was finding them.
WEIR_API const std::vector<Candidate>& drivers();

/// The usable driver of that name, or null. Until `drivers` is called, drivers of other names are not loaded.
/// Thread-safe; throws as `drivers` does. What is returned stays as it is.
const Candidate* find_driver(std::string_view name);

}  // namespace weir
