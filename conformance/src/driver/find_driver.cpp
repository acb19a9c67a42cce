// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>

#include <algorithm>
#include <stdexcept>
#include <vector>
#include <weir/drivers.hpp>

#include "communicator/communicator_under_test.hpp"
#include "driver/driver_under_test.hpp"
#include "driver/manifest.hpp"

namespace weir::conformance {
namespace {

namespace fs = std::filesystem;

DriverFile driver_of(const ManifestFile& manifest, const fs::path& path) {
  return {manifest.name, manifest.library, fs::absolute(path).lexically_normal()};
}

DriverFile from_manifest(const fs::path& path) {
  return driver_of(read_manifest_file(path), path);
}

/// Returns the manifest in the library's folder that names the library, if there is one.
DriverFile from_library(const fs::path& library) {
  const fs::path absolute = fs::absolute(library).lexically_normal();
  for (const auto& entry : fs::directory_iterator(absolute.parent_path())) {
    if (entry.path().extension() != ".json") continue;
    try {
      DriverFile found = from_manifest(entry.path());
      std::error_code ignored;
      if (fs::equivalent(found.library, absolute, ignored)) return found;
    } catch (const std::exception&) {  // not a manifest: another JSON file
    }
  }
  return {absolute.stem().string(), absolute, {}};
}

std::vector<fs::path> manifests_in(const fs::path& folder) {
  std::vector<fs::path> manifests;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".json" && path.filename().native().front() != '.') manifests.push_back(path);
  }
  std::ranges::sort(manifests);
  return manifests;
}

}  // namespace

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

namespace {

DriverFile find_plugin(std::string_view what, const std::string& kind, const std::vector<fs::path>& folders) {
  const fs::path path(what);
  if (path.has_parent_path() || path.extension() == ".so" || path.extension() == ".json") {
    if (!fs::is_regular_file(path))
      throw std::runtime_error("there is no " + kind + " file " + path.string());
    return path.extension() == ".json" ? from_manifest(path) : from_library(path);
  }
  std::string looked;
  for (const fs::path& folder : folders) {
    looked += "\n  " + (folder / (std::string(what) + ".json")).string();
    for (const fs::path& file : manifests_in(folder)) {
      try {
        const ManifestFile manifest = read_manifest_file(file);
        if (manifest.name != what) continue;
        if (manifest.faults.empty()) return driver_of(manifest, file);
        looked += "\n    libweir refuses " + file.string() + ", which " + manifest.faults.front();
      } catch (const std::exception& error) {
        if (file.stem() == what) looked += std::string("\n    ") + error.what();
      }
    }
  }
  throw std::runtime_error("no " + kind + " is named '" + std::string(what) + "'; looked for" + looked);
}

}  // namespace

DriverFile find_driver(std::string_view what) {
  return find_plugin(what, "driver", driver_search_path());
}

DriverFile find_communicator(std::string_view what) {
  return find_plugin(what, "communicator", communicator_search_path());
}

LayerFile find_layer(std::string_view what) {
  if (what.empty()) return {};
  const std::size_t colon = what.find(':');
  const std::string options(colon == what.npos ? "" : what.substr(colon + 1));
  const fs::path path(what.substr(0, colon));
  if (path.has_parent_path() || path.extension() == ".so") {
    if (!fs::is_regular_file(path)) throw std::runtime_error("there is no layer file " + path.string());
    return {fs::absolute(path).lexically_normal(), options};
  }
  std::string looked;
  for (const fs::path& folder : layer_search_path()) {
    const fs::path library = folder / ("libweir-layer-" + path.string() + ".so");
    if (fs::is_regular_file(library)) return {library, options};
    looked += "\n  " + library.string();
  }
  throw std::runtime_error("no layer is named '" + path.string() + "'; looked for" + looked);
}

}  // namespace weir::conformance
