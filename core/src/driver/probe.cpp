// SPDX-License-Identifier: Apache-2.0
#include "driver/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <exception>
#include <weir/error.hpp>

#include "driver/dynamic_library.hpp"
#include "driver/elf.hpp"
#include "driver/layers.hpp"
#include "driver/manifest.hpp"
#include "driver/table.hpp"
#include "driver/trust.hpp"

namespace weir {
namespace {

constexpr std::uint32_t abi_min = WEIR_ABI_VERSION(1, 0);
constexpr std::uint32_t abi_max = WEIR_ABI_CURRENT;
constexpr std::uint64_t least_alignment = 64;
constexpr std::string_view machine = WEIR_MACHINE;

constexpr std::string_view reinstall = "reinstall the driver";
constexpr std::string_view tell_author = "update the driver, or tell its author";

// For a call without arguments, a driver returns INVALID only because of a setting that it read.
std::string_view failure_remedy(weir_result result) {
  return result == WEIR_ERROR_INVALID
             ? "correct the setting that it names; a new installation of the driver would not help"
             : reinstall;
}

[[noreturn]] void refuse(DriverStatus status, std::string reason, std::string_view remedy) {
  throw Refusal{status, std::move(reason), std::string(remedy)};
}

TrustedFile open_judged(const std::filesystem::path& file, std::string_view remedy) {
  try {
    return open_trusted(file);
  } catch (const UntrustedFile& untrusted) {
    refuse(DriverStatus::untrusted, untrusted.reason(), untrusted.remedy());
  } catch (const Error& error) {
    refuse(DriverStatus::broken, error.what(), remedy);
  }
}

void check_architecture(std::string_view found, std::string_view where) {
  if (found != machine)
    refuse(DriverStatus::wrong_architecture,
           fmt::format("{} is for {}; this process is {}", where, found, machine),
           fmt::format("install the driver's build for {}, or correct its manifest", machine));
}

std::string_view abi_remedy(std::uint32_t driver_max) {
  return driver_max < abi_min ? "update the driver"
                              : "update Weir, or install an older version of the driver";
}

// Runs driver code that must not throw. An exception that leaves it is an error of the driver and must not
// end the process.
template <class Call>
weir_result call_driver(std::string_view what, Call call) {
  constexpr std::string_view must = "a driver must return an error instead";
  try {
    return call();
  } catch (const std::exception& error) {
    refuse(DriverStatus::broken, fmt::format("{} threw an exception (\"{}\"); {}", what, error.what(), must),
           tell_author);
  } catch (...) {
    refuse(DriverStatus::broken, fmt::format("{} threw an exception; {}", what, must), tell_author);
  }
}

std::unique_ptr<GpuDriver> take_table(weir_driver_entry_function entry) {
  const weir_host host{sizeof(weir_host), abi_min, abi_max};
  const weir_driver_table* table = nullptr;
  Status status;
  const weir_result result = call_driver("its entry point", [&] { return entry(&host, &table, &status); });
  if (result == WEIR_ERROR_ABI)
    refuse(DriverStatus::abi_refused,
           fmt::format("the driver refuses ABI {}: {}", abi_range_text(abi_min, abi_max),
                       failure_words(result, status)),
           "install a version of the driver made for this Weir");
  if (result != WEIR_OK)
    refuse(DriverStatus::broken, fmt::format("its entry point failed: {}", failure_words(result, status)),
           failure_remedy(result));
  if (!table) refuse(DriverStatus::broken, "its entry point succeeded and gave no table", tell_author);
  try {
    return std::make_unique<GpuDriver>(*table, abi_min, abi_max);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::abi)
      refuse(DriverStatus::abi_refused, error.what(), abi_remedy(table->abi_version));
    refuse(DriverStatus::broken, error.what(), tell_author);
  }
}

std::uint32_t count_devices(const GpuDriver& driver, const Manifest& manifest) {
  std::uint32_t count = 0;
  Status status;
  const weir_result result =
      call_driver("device_count", [&] { return driver.table().device_count(&count, &status); });
  constexpr std::string_view no_device_remedy =
      "nothing, unless this machine has such a device: then check that its kernel driver is loaded and that "
      "this "
      "user may use it";
  if (result == WEIR_ERROR_NO_LIBRARY) {
    const std::string remedy =
        manifest.vendor_libraries.empty()
            ? "install the vendor's runtime library if this machine has such a device"
            : fmt::format(
                  "install the package that provides {} if this machine has such a device; a container "
                  "must be started with access to it",
                  fmt::join(manifest.vendor_libraries, " or "));
    refuse(DriverStatus::no_vendor_library, failure_words(result, status), remedy);
  }
  if (result == WEIR_ERROR_NO_DEVICE)
    refuse(DriverStatus::no_device, failure_words(result, status), no_device_remedy);
  if (result != WEIR_OK)
    refuse(DriverStatus::broken,
           fmt::format("it cannot count its devices: {}", failure_words(result, status)),
           failure_remedy(result));
  if (count == 0) refuse(DriverStatus::no_device, "it found no device", no_device_remedy);
  if (count > most_driver_devices)
    refuse(DriverStatus::broken,
           fmt::format("it reports {} devices; at most {} are expected", count, most_driver_devices),
           tell_author);
  return count;
}

void check_device(const GpuDriver& driver, std::uint32_t index, const weir_device_info& info) {
  const auto fault = [&](std::string what) {
    refuse(DriverStatus::broken, fmt::format("device {} {}", index, what), tell_author);
  };
  if (const std::uint64_t bits = info.capabilities & ~driver.possible_capabilities(); bits != 0) {
    const std::uint64_t bit = std::uint64_t{1} << std::countr_zero(bits);
    fault(fmt::format("claims the capability bit {}, but the driver's table lacks its functions: {}",
                      std::countr_zero(bit), slots_of(bit)));
  }
  if (info.memory_alignment < least_alignment || !std::has_single_bit(info.memory_alignment))
    fault(fmt::format("reports a memory alignment of {}; a power of two of at least {} is expected",
                      info.memory_alignment, least_alignment));
  if (info.argument_style > WEIR_ARGUMENT_BUFFER)
    fault(fmt::format("reports the argument style {}; 0 or 1 is expected", info.argument_style));
  if (info.code_target_count > WEIR_MAX_CODE_TARGETS)
    fault(fmt::format("reports {} code targets; at most {} are expected", info.code_target_count,
                      WEIR_MAX_CODE_TARGETS));
}

template <std::size_t N>
void terminate(char (&text)[N]) {
  text[N - 1] = '\0';
}

weir_device_info describe_device(const GpuDriver& driver, std::uint32_t index) {
  weir_device_info info{};
  info.struct_size = sizeof info;
  Status status;
  const weir_result result =
      call_driver("device_get_info", [&] { return driver.table().device_get_info(index, &info, &status); });
  if (result != WEIR_OK)
    refuse(DriverStatus::broken,
           fmt::format("it cannot describe device {}: {}", index, failure_words(result, status)),
           failure_remedy(result));
  terminate_texts(info);
  check_device(driver, index, info);
  return info;
}

// Opens the library after its owner, path and header have been accepted.
TrustedFile open_checked_library(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    refuse(DriverStatus::broken,
           fmt::format("the library {} that the manifest names is not there", path.string()),
           "reinstall the driver, or correct its manifest");
  TrustedFile library = open_judged(path, reinstall);
  try {
    const ElfHeader header = read_elf_header(library);
    if (!header.native) check_architecture(header.machine, path.filename().string());
    if (!header.shared_object)
      refuse(DriverStatus::broken,
             fmt::format("{} is an ELF file, but not a shared object", path.filename().string()), reinstall);
  } catch (const Error& unreadable) {
    refuse(DriverStatus::broken, unreadable.what(), reinstall);
  }
  return library;
}

}  // namespace

Manifest check_manifest(Candidate& candidate) {
  constexpr std::string_view remedy = "reinstall the driver, or correct its manifest";
  Manifest manifest;
  try {
    manifest = read_manifest(open_judged(candidate.manifest, remedy));
  } catch (const Error& error) {
    refuse(DriverStatus::broken, error.what(), remedy);
  }
  candidate.name = manifest.name;
  candidate.description = manifest.description;
  candidate.library = manifest.library;
  check_architecture(manifest.architecture, "the driver, by its manifest,");
  if (manifest.abi_max < abi_min || manifest.abi_min > abi_max)
    refuse(DriverStatus::abi_refused,
           fmt::format("the driver speaks ABI {}; this Weir speaks {}",
                       abi_range_text(manifest.abi_min, manifest.abi_max), abi_range_text(abi_min, abi_max)),
           abi_remedy(manifest.abi_max));
  return manifest;
}

void check_library(const Candidate& candidate) {
  open_checked_library(candidate.library);
}

void load_driver(Candidate& candidate, const Manifest& manifest,
                 const std::function<void(ProbeStep)>& begins) {
  const auto begin = [&](ProbeStep step) {
    if (begins) begins(step);
  };
  begin(ProbeStep::load);
  // Checked again: the trial of the driver may have taken seconds.
  const weir_driver_entry_function entry =
      open_driver_library(open_checked_library(candidate.library), manifest.vendor_libraries);
  begin(ProbeStep::entry);
  std::unique_ptr<GpuDriver> driver = take_table(entry);
  if (driver->name() != manifest.name)
    refuse(DriverStatus::broken,
           fmt::format("the library calls itself \"{}\", its manifest \"{}\"", driver->name(), manifest.name),
           reinstall);
  candidate.driver = std::move(driver);
  candidate.identity = {
      candidate.driver->version(), candidate.driver->vendor(), candidate.driver->abi_version(), {}};
  begin(ProbeStep::count);
  const std::uint32_t count = count_devices(*candidate.driver, manifest);
  begin(ProbeStep::describe);
  for (std::uint32_t index = 0; index < count; ++index)
    candidate.devices.push_back(describe_device(*candidate.driver, index));
}

void open_and_close(const GpuDriver& driver, const std::function<void(ProbeStep)>& begins) {
  weir_device device = nullptr;
  Status status;
  begins(ProbeStep::open);
  const weir_result opened =
      call_driver("device_open", [&] { return driver.table().device_open(0, &device, &status); });
  begins(ProbeStep::close);
  if (opened != WEIR_OK || !device) return;
  call_driver("device_close", [&] { return driver.table().device_close(device, &status); });
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
