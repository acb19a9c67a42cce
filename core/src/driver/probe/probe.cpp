// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <exception>
#include <weir/error.hpp>

#include "driver/discovery/manifest.hpp"
#include "driver/dynamic_library.hpp"
#include "driver/layers.hpp"
#include "driver/probe/probe_communicator.hpp"
#include "driver/probe/probe_steps.hpp"
#include "driver/table.hpp"
#include "driver/trust/elf.hpp"
#include "driver/trust/trust.hpp"

namespace weir {
namespace {

constexpr std::uint64_t min_alignment = 64;
constexpr std::string_view machine = WEIR_MACHINE;

TrustedFile open_if_trusted(const std::filesystem::path& file, std::string_view remedy) {
  try {
    return open_trusted(file);
  } catch (const UntrustedFile& untrusted) {
    refuse(DriverStatus::untrusted, untrusted.reason(), untrusted.remedy());
  } catch (const Error& error) {
    refuse(DriverStatus::broken, error.what(), remedy);
  }
}

void check_architecture(PluginKind kind, std::string_view found, std::string_view where) {
  if (found != machine)
    refuse(
        DriverStatus::wrong_architecture,
        fmt::format("{} is for {}; this process is {}", where, found, machine),
        fmt::format("install the {}'s build for {}, or correct its manifest", terms_of(kind).name, machine));
}

std::uint32_t count_devices(const GpuDriver& driver, const Manifest& manifest) {
  std::uint32_t count = 0;
  Status status;
  const weir_result result = call_plugin(PluginKind::driver, "device_count",
                                         [&] { return driver.table().device_count(&count, &status); });
  constexpr std::string_view no_device_remedy =
      "if this machine has such a device, check that its kernel driver is loaded and that this user may use "
      "it; otherwise nothing to do";
  if (result == WEIR_ERROR_NO_LIBRARY) {
    const std::string remedy =
        manifest.vendor_libraries.empty()
            ? "install the vendor's runtime library if this machine has such a device"
            : fmt::format(
                  "install the package that provides {} if this machine has such a device; a container "
                  "must be started with access to it",
                  fmt::join(manifest.vendor_libraries, " or "));
    refuse(DriverStatus::no_vendor_library, describe_failure(result, status), remedy);
  }
  if (result == WEIR_ERROR_NO_DEVICE)
    refuse(DriverStatus::no_device, describe_failure(result, status), no_device_remedy);
  if (result != WEIR_OK)
    refuse_failure(PluginKind::driver, "it cannot count its devices", result, status);
  if (count == 0) refuse(DriverStatus::no_device, "it found no device", no_device_remedy);
  if (count > max_driver_devices)
    refuse(DriverStatus::broken,
           fmt::format("it reports {} devices; at most {} are expected", count, max_driver_devices),
           tell_author(PluginKind::driver));
  return count;
}

void check_device(const GpuDriver& driver, std::uint32_t index, const weir_device_info& info) {
  const auto fault = [&](std::string what) {
    refuse(DriverStatus::broken, fmt::format("device {} {}", index, what), tell_author(PluginKind::driver));
  };
  if (const std::uint64_t bits = info.capabilities & ~driver.possible_capabilities(); bits != 0) {
    const std::uint64_t bit = std::uint64_t{1} << std::countr_zero(bits);
    fault(fmt::format("claims the capability bit {}, but the driver's table lacks its functions: {}",
                      std::countr_zero(bit), slots_of(bit)));
  }
  if (info.memory_alignment < min_alignment || !std::has_single_bit(info.memory_alignment))
    fault(fmt::format("reports a memory alignment of {}; a power of two of at least {} is expected",
                      info.memory_alignment, min_alignment));
  if (info.argument_style > WEIR_ARGUMENT_BUFFER)
    fault(fmt::format("reports the argument style {}; 0 or 1 is expected", info.argument_style));
  if (info.code_target_count > WEIR_MAX_CODE_TARGETS)
    fault(fmt::format("reports {} code targets; at most {} are expected", info.code_target_count,
                      WEIR_MAX_CODE_TARGETS));
}

weir_device_info describe_device(const GpuDriver& driver, std::uint32_t index) {
  weir_device_info info{};
  info.struct_size = sizeof info;
  Status status;
  const weir_result result = call_plugin(PluginKind::driver, "device_get_info", [&] {
    return driver.table().device_get_info(index, &info, &status);
  });
  if (result != WEIR_OK)
    refuse_failure(PluginKind::driver, fmt::format("it cannot describe device {}", index), result, status);
  terminate_texts(info);
  check_device(driver, index, info);
  return info;
}

// Opens the library after its owner, path and header have been accepted.
TrustedFile open_checked_library(PluginKind kind, const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    refuse(DriverStatus::broken,
           fmt::format("the library {} that the manifest names does not exist", path.string()),
           reinstall_or_correct(kind));
  TrustedFile library = open_if_trusted(path, reinstall(kind));
  try {
    const ElfHeader header = read_elf_header(library);
    if (!header.native) check_architecture(kind, header.machine, path.filename().string());
    if (!header.shared_object)
      refuse(DriverStatus::broken,
             fmt::format("{} is an ELF file, but not a shared object", path.filename().string()),
             reinstall(kind));
  } catch (const Error& unreadable) {
    refuse(DriverStatus::broken, unreadable.what(), reinstall(kind));
  }
  return library;
}

}  // namespace

Manifest check_manifest(Candidate& candidate, std::optional<PluginKind> expected) {
  const std::string remedy = reinstall_or_correct(expected.value_or(PluginKind::driver));
  Manifest manifest;
  try {
    manifest = read_manifest(open_if_trusted(candidate.manifest, remedy));
  } catch (const Error& error) {
    refuse(DriverStatus::broken, error.what(), remedy);
  }
  candidate.name = manifest.name;
  candidate.description = manifest.description;
  candidate.library = manifest.library;
  candidate.kind = manifest.kind;
  const PluginTerms& terms = terms_of(manifest.kind);
  if (expected && *expected != manifest.kind) {
    candidate.kind = *expected;
    refuse(
        DriverStatus::broken,
        fmt::format("its manifest is that of a {}; a {} is expected in this folder", terms.name,
                    terms_of(*expected).name),
        fmt::format("move its files to a folder of {}, or correct \"kind\" in the manifest", terms.plural));
  }
  check_architecture(manifest.kind, manifest.architecture,
                     fmt::format("the {}, by its manifest,", terms.name));
  if (manifest.abi_max < terms.abi_min || manifest.abi_min > terms.abi_max)
    refuse(DriverStatus::abi_refused,
           fmt::format("the {} supports ABI {}; this Weir supports {}", terms.name,
                       abi_range_text(manifest.abi_min, manifest.abi_max),
                       abi_range_text(terms.abi_min, terms.abi_max)),
           abi_remedy(manifest.kind, manifest.abi_max));
  return manifest;
}

void check_library(const Candidate& candidate) {
  open_checked_library(candidate.kind, candidate.library);
}

namespace {

void take_driver(Candidate& candidate, const Manifest& manifest, void* entry,
                 const std::function<void(ProbeStep)>& begin) {
  constexpr PluginKind kind = PluginKind::driver;
  candidate.driver = take_table<GpuDriver, weir_driver_table>(kind, entry);
  check_name(kind, *candidate.driver, manifest);
  candidate.identity = {
      candidate.driver->version(), candidate.driver->vendor(), candidate.driver->abi_version(), {}};
  begin(ProbeStep::count);
  const std::uint32_t count = count_devices(*candidate.driver, manifest);
  begin(ProbeStep::describe);
  for (std::uint32_t index = 0; index < count; ++index)
    candidate.devices.push_back(describe_device(*candidate.driver, index));
}

}  // namespace

void load_plugin(Candidate& candidate, const Manifest& manifest,
                 const std::function<void(ProbeStep)>& begins) {
  const auto begin = [&](ProbeStep step) {
    if (begins) begins(step);
  };
  begin(ProbeStep::load);
  // Checked again: the trial may have taken seconds.
  void* const entry = open_plugin_library(open_checked_library(candidate.kind, candidate.library),
                                          candidate.kind, manifest.vendor_libraries);
  begin(ProbeStep::entry);
  if (candidate.kind == PluginKind::driver)
    take_driver(candidate, manifest, entry, begin);
  else
    take_communicator(candidate, manifest, entry, begin);
}

void open_and_close(const GpuDriver& driver, const std::function<void(ProbeStep)>& begins) {
  weir_device device = nullptr;
  Status status;
  begins(ProbeStep::open);
  const weir_result opened = call_plugin(PluginKind::driver, "device_open",
                                         [&] { return driver.table().device_open(0, &device, &status); });
  begins(ProbeStep::close);
  if (opened != WEIR_OK || !device) return;
  call_plugin(PluginKind::driver, "device_close",
              [&] { return driver.table().device_close(device, &status); });
}

void add_layers(Candidate& candidate) {
  put_layers(*candidate.driver);
  for (const auto& layer : candidate.driver->layers())
    candidate.identity->layers.push_back({layer->name, layer->options, layer->library});
}

void terminate_texts(weir_device_info& info) {
  terminate(info.name);
  terminate(info.vendor);
  terminate(info.driver_version);
  terminate(info.location);
  terminate(info.target_features);
  terminate(info.notes);
  for (weir_code_target& target : info.code_targets) {
    terminate(target.format);
    terminate(target.target);
  }
}

}  // namespace weir
