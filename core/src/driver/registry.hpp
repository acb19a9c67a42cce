// SPDX-License-Identifier: Apache-2.0
// Finds drivers, loads them, and records the status of each candidate.
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

#include "driver/communicator_plugin.hpp"
#include "driver/gpu_driver.hpp"
#include "driver/probe/side_effect.hpp"

namespace weir {

/// The status of a candidate driver. Candidate describes each one in a sentence, with a remedy.
enum class DriverStatus : std::uint8_t {
  usable,
  no_device,          ///< its runtime is installed, but there is no device; not an error
  no_vendor_library,  ///< e.g. libcuda.so.1 is not installed; not an error
  wrong_architecture,
  abi_refused,
  untrusted,  ///< manifest or library may be written by another user
  shadowed,   ///< a driver of the same name was found earlier in the search order
  wrong_setting,  ///< it refuses the value of a setting, such as an environment variable
  broken,     ///< anything else: missing file or symbol, malformed manifest, an exception, an error
};
WEIR_API std::string_view to_string(DriverStatus status) noexcept;

/// The process that determined whether a driver can be loaded safely.
enum class ProbePlace : std::uint8_t {
  nowhere,       ///< refused before the probe
  child,         ///< in a separate process, now
  before,        ///< in a separate process, by an earlier process that recorded the verdict
  this_process,  ///< in this process; Candidate::note gives the reason
};

/// A layer around a driver.
struct LayerIdentity {
  std::string name, options, library;
};

/// A driver's own description of itself.
struct DriverIdentity {
  std::string version, vendor;
  std::uint32_t abi_version = 0;
  std::vector<LayerIdentity> layers;  ///< from the program's side to the driver's
};

/// One candidate: a manifest and the status of its plugin.
struct Candidate {
  PluginKind kind = PluginKind::driver;
  std::string name;  ///< from the manifest, or the file's stem when it could not be read
  std::filesystem::path manifest;
  std::string description;               ///< from the manifest
  std::vector<std::string> launched_by;  ///< from the manifest of a communicator
  std::filesystem::path library;         ///< absolute; empty when the manifest could not be read
  DriverStatus status = DriverStatus::broken;
  std::string reason;  ///< one sentence: the expectation and the finding
  std::string remedy;  ///< one sentence: the remedy; empty when usable
  std::string note;    ///< further information for a user, or empty
  ProbePlace probed = ProbePlace::nowhere;
  std::vector<SideEffect> effects;                   ///< changes to the process found in its trial
  std::optional<DriverIdentity> identity;            ///< when the table was accepted
  std::unique_ptr<GpuDriver> driver;                 ///< non-null when the table was accepted in this process
  std::vector<weir_device_info> devices;             ///< when a usable driver
  std::unique_ptr<CommunicatorPlugin> communicator;  ///< as `driver`, of a communicator
  std::optional<weir_communicator_info> communicator_info;  ///< when a usable communicator
};

/// Why a folder is in the search path.
enum class SearchOrigin : std::uint8_t { environment, user, install, system };
/// For the environment, the variable of that kind of plugin.
WEIR_API std::string_view to_string(SearchOrigin origin, PluginKind kind = PluginKind::driver) noexcept;

/// A folder of the search path, or an entry that was excluded from it.
struct SearchFolder {
  std::filesystem::path path;
  SearchOrigin origin = SearchOrigin::system;
  std::string ignored;  ///< the reason why it is not searched; empty when it is
  PluginKind kind = PluginKind::driver;
};

/// The search path with the excluded entries, for `weir info`.
WEIR_API std::vector<SearchFolder> driver_search_folders();
WEIR_API std::vector<SearchFolder> plugin_search_folders(PluginKind kind);

struct ProbePolicy;

/// Probes all candidates of a kind in `folders` and loads the accepted ones. Never throws for a bad
/// candidate.
std::vector<Candidate> find_drivers(std::span<const std::filesystem::path> folders, const ProbePolicy& policy,
                                    PluginKind kind = PluginKind::driver);

/// Finds the same candidates and describes each one from a separate process, so that no driver is loaded here
/// and `Candidate::driver` is null. When no such process can be started, the driver is loaded here and a note
/// says so. Throws LayersError when WEIR_LAYERS is wrong.
std::vector<Candidate> inspect_drivers(std::span<const std::filesystem::path> folders,
                                       const ProbePolicy& policy, PluginKind kind = PluginKind::driver);
/// The same for this process's search path and policy, for `weir info`.
WEIR_API std::vector<Candidate> inspect_drivers();
WEIR_API std::vector<Candidate> inspect_communicators();

/// Deletes the recorded verdicts, so that all drivers are probed again. Must be called before the first
/// search for a driver. Returns why the file cannot be removed, or an empty string.
WEIR_API std::string forget_probes();

/// The process's drivers, found on first use and kept until the process ends. Thread-safe. Throws
/// Error{system} in a child that was forked while another thread searched for drivers.
WEIR_API const std::vector<Candidate>& drivers();

/// The usable driver of that name, or null. Loads no drivers of other names unless `drivers` is called.
/// Thread-safe; throws as `drivers` does. The result stays valid and unchanged.
const Candidate* find_driver(std::string_view name);

/// The same for communicators.
WEIR_API const std::vector<Candidate>& communicators();
const Candidate* find_communicator(std::string_view name);

/// A communicator whose launcher has started this process as one of several ranks.
struct LaunchedCommunicator {
  std::string name, variable, ranks;  ///< the variable of the environment, and its value
};
/// From the manifests and the environment; examines no communicator. Thread-safe; throws as `drivers` does.
std::vector<LaunchedCommunicator> launched_communicators();

}  // namespace weir
