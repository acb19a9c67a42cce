// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>
#include <weir/device.hpp>

#include "driver_under_test.hpp"

namespace weir::conformance {
namespace {

namespace fs = std::filesystem;

DriverFile from_manifest(const fs::path& manifest) {
  std::ifstream file(manifest);
  const nlohmann::json parsed = nlohmann::json::parse(file, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("library") || !parsed["library"].is_string())
    throw std::runtime_error(manifest.string() +
                             " is no driver manifest: it is no JSON object with a library");
  return {parsed.value("name", manifest.stem().string()),
          fs::absolute(manifest.parent_path() / parsed["library"].get<std::string>()).lexically_normal(),
          fs::absolute(manifest).lexically_normal()};
}

/// The manifest in the library's folder that names it, if there is one.
DriverFile from_library(const fs::path& library) {
  const fs::path absolute = fs::absolute(library).lexically_normal();
  for (const auto& entry : fs::directory_iterator(absolute.parent_path())) {
    if (entry.path().extension() != ".json") continue;
    try {
      DriverFile found = from_manifest(entry.path());
      std::error_code ignored;
      if (fs::equivalent(found.library, absolute, ignored)) return found;
    } catch (const std::exception&) {  // some other JSON file
    }
  }
  return {absolute.stem().string(), absolute, {}};
}

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  if (const char* listed = std::getenv("WEIR_DRIVER_PATH")) {
    const std::string text = listed;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) found.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  Dl_info libweir{};
  if (dladdr(reinterpret_cast<const void*>(&weir::devices), &libweir) != 0 && libweir.dli_fname)
    found.push_back(fs::weakly_canonical(libweir.dli_fname).parent_path() / "weir/drivers");
  if (const char* home = std::getenv("HOME")) found.push_back(fs::path(home) / ".local/share/weir/drivers");
  found.emplace_back("/usr/lib/weir/drivers");
  return found;
}

}  // namespace

DriverFile find_driver(std::string_view what) {
  const fs::path path(what);
  if (path.has_parent_path() || path.extension() == ".so" || path.extension() == ".json") {
    if (!fs::is_regular_file(path)) throw std::runtime_error("there is no driver file " + path.string());
    return path.extension() == ".json" ? from_manifest(path) : from_library(path);
  }
  std::string looked;
  for (const fs::path& folder : folders()) {
    const fs::path manifest = folder / (std::string(what) + ".json");
    if (fs::is_regular_file(manifest)) return from_manifest(manifest);
    looked += "\n  " + manifest.string();
  }
  throw std::runtime_error("no driver is named '" + std::string(what) + "'; looked for" + looked);
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
  for (const fs::path& folder : folders()) {
    const fs::path library = folder.parent_path() / "layers" / ("libweir-layer-" + path.string() + ".so");
    if (fs::is_regular_file(library)) return {library, options};
    looked += "\n  " + library.string();
  }
  throw std::runtime_error("no layer is named '" + path.string() + "'; looked for" + looked);
}

}  // namespace weir::conformance
