// SPDX-License-Identifier: Apache-2.0
#include "driver/manifest.hpp"

#include <sys/utsname.h>

#include <stdexcept>
#include <weir/drivers.hpp>

namespace weir::conformance {

std::string fault_of_name(const std::string& name) {
  if (valid_driver_name(name)) return {};
  return "has the name \"" + name.substr(0, 40) +
         "\"; lower case letters, digits and '-' are expected, at most 32, and no '-' first";
}

ManifestFile read_manifest_file(const std::filesystem::path& path) {
  Manifest manifest = examine_manifest(path);
  if (manifest.library.empty())
    throw std::runtime_error(path.string() + " is no driver manifest: it " + manifest.faults.front());
  utsname machine{};
  if (!manifest.architecture.empty() && uname(&machine) == 0 && manifest.architecture != machine.machine)
    manifest.faults.push_back("is for the architecture \"" + manifest.architecture.substr(0, 40) +
                              "\"; this machine is " + machine.machine);
  if (manifest.name.empty()) manifest.name = path.stem().string();
  return {std::move(manifest.name), manifest.library.lexically_normal(), std::move(manifest.faults)};
}

}  // namespace weir::conformance
