// SPDX-License-Identifier: Apache-2.0
#include "driver/layers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <weir/layers.hpp>

#include "driver/discovery/manifest.hpp"
#include "driver/discovery/search_path.hpp"
#include "driver/gpu_driver.hpp"
#include "driver/registry.hpp"
#include "driver/trust/elf.hpp"
#include "driver/trust/trust.hpp"
#include "folder_names.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;
using detail::ActiveLayer;

constexpr std::string_view library_prefix = "libweir-layer-", library_suffix = ".so";

/// The settings of set_layers and set_layer_handler. Never destroyed: layers report until the process ends.
struct Wanted {
  std::mutex mutex;
  std::vector<WantedLayer> by_code;
  bool in_use = false;

  std::mutex handler_mutex;  // held while the handler runs: one report at a time
  std::function<void(const LayerReport&)> handler;
};

Wanted& wanted() {
  static auto* instance = new Wanted;
  return *instance;
}

std::string text_of(const char* text) {
  return text ? text : "";
}

void hear(void*, const weir_layer_report* report) {
  LayerReport heard{text_of(report->layer), text_of(report->driver), text_of(report->rule),
                    text_of(report->message)};
  const std::lock_guard lock(wanted().handler_mutex);
  if (wanted().handler) return wanted().handler(heard);
  const std::string line =
      fmt::format("weir: {}: {}: {} (driver {})\n", heard.layer, heard.rule, heard.message, heard.driver);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::vector<WantedLayer> wanted_layers() {
  std::vector<WantedLayer> all;
  if (const char* text = std::getenv("WEIR_LAYERS"); text && *text && !process_is_elevated())
    all = parse_layers(text, "the environment variable WEIR_LAYERS");
  const std::lock_guard lock(wanted().mutex);
  wanted().in_use = true;
  all.insert(all.end(), wanted().by_code.begin(), wanted().by_code.end());
  return all;
}

/// A remedy that lists the available layers, or the searched places when there are none.
std::string what_there_is(const std::string& wanted_name) {
  std::string text;
  std::set<std::string> names;
  for (const fs::path& folder : layer_search_path()) {
    for_each_name(folder, [&](std::string_view file) {
      if (!file.starts_with(library_prefix) || !file.ends_with(library_suffix)) return;
      file.remove_prefix(library_prefix.size());
      file.remove_suffix(std::min(library_suffix.size(), file.size()));
      names.emplace(file);
    });
  }
  for (const std::string& name : names) text += (text.empty() ? "the layers are " : ", ") + name;
  const std::string or_put =
      fmt::format("put the folder of {}{}{} in WEIR_LAYER_PATH", library_prefix, wanted_name, library_suffix);
  if (!text.empty()) return fmt::format("{}; name one of them, or {}", text, or_put);
  text = "no layer was found in";
  for (const fs::path& folder : layer_search_path()) text += " " + folder.string();
  return fmt::format("{}; install weir-tools, which holds Weir's own, or {}", text, or_put);
}

fs::path find_library(const WantedLayer& layer) {
  for (const fs::path& folder : layer_search_path()) {
    const fs::path file = folder / fmt::format("{}{}{}", library_prefix, layer.name, library_suffix);
    std::error_code error;
    if (fs::exists(file, error)) return file;
    if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  }
  throw LayersError(fmt::format("{} asks for the layer '{}', which is not installed; {}", layer.origin,
                                layer.name, what_there_is(layer.name)));
}

weir_layer_entry_function open_library(const WantedLayer& layer, const fs::path& file) {
  const auto refuse = [&](const std::string& why) {
    throw LayersError(
        fmt::format("the layer '{}' that {} asks for cannot be loaded: {}", layer.name, layer.origin, why));
  };
  void* library = nullptr;  // never closed, as for drivers
  try {
    const TrustedFile judged = open_trusted(file);
    const ElfHeader header = read_elf_header(judged);
    if (!header.native || !header.shared_object)
      refuse(fmt::format("{} is not a library for this machine; reinstall the layer", file.string()));
    judged.verify();  // as for drivers, see dynamic_library.cpp
    library = dlopen(judged.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) refuse(fmt::format("{}; reinstall the layer", text_of(dlerror())));
    judged.verify();
  } catch (const LayersError&) {
    throw;
  } catch (const UntrustedFile& untrusted) {
    refuse(untrusted.what());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory) throw;
    refuse(fmt::format("{}; reinstall the layer", error.what()));
  }
  const auto entry = reinterpret_cast<weir_layer_entry_function>(dlsym(library, WEIR_LAYER_ENTRY_NAME));
  if (!entry)
    refuse(fmt::format("{} exports no symbol {}; report it to the author", file.string(),
                       WEIR_LAYER_ENTRY_NAME));
  return entry;
}

/// Copies a table for the life of the process, which is that of the driver. Leak checkers reach the copy.
const weir_driver_table* keep(const weir_driver_table& table) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<const weir_driver_table>>;
  const std::lock_guard lock(mutex);
  return kept.emplace_back(std::make_unique<const weir_driver_table>(table)).get();
}

ActiveLayer enter(const WantedLayer& wanted_layer, const GpuDriver& driver) {
  const fs::path file = find_library(wanted_layer);
  const weir_layer_entry_function entry = open_library(wanted_layer, file);
  ActiveLayer active{wanted_layer.name, wanted_layer.options, file.string(), driver.name(), {}};
  active.layer.struct_size = sizeof active.layer;
  weir_layer_host host{};
  host.struct_size = sizeof host;
  host.abi_version = WEIR_ABI_CURRENT;
  host.next = keep(driver.table());
  host.options = active.options.c_str();
  host.report = hear;
  Status status;
  const auto refuse = [&](const std::string& words) {
    throw LayersError(fmt::format("{}, layer '{}': {}", wanted_layer.origin, wanted_layer.name, words));
  };
  weir_result result = WEIR_ERROR_UNKNOWN;
  try {
    result = entry(&host, &active.layer, &status);
  } catch (...) {
    refuse("its entry point threw an exception; update the layer, or report it to the author");
  }
  if (result == WEIR_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (result != WEIR_OK)
    refuse(status.message[0] ? status.message
                             : "its entry point failed without a word; report it to the author");
  if (!active.layer.table) refuse("its entry point succeeded and returned no table; report it to the author");
  return active;
}

}  // namespace

std::vector<WantedLayer> parse_layers(std::string_view text, std::string_view origin) {
  std::vector<WantedLayer> layers;
  if (text.empty()) return layers;
  const auto refuse = [&](const std::string& why) {
    throw LayersError(
        fmt::format("{} is '{}': {}; expected layers between commas, each with options after ':', "
                    "such as validate,fault:call=kernel_launch:nth=3",
                    origin, text, why));
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string_view name = word.substr(0, colon);
    if (name.empty()) refuse(fmt::format("layer {} has no name", layers.size() + 1));
    if (!valid_driver_name(name))
      refuse(fmt::format("'{}' is not the name of a layer (lower case letters, digits and '-', at most 32)",
                         name));
    layers.push_back(
        {std::string(name), std::string(word.substr(std::min(colon + 1, word.size()))), std::string(origin)});
    begin = end + 1;
  }
  return layers;
}

std::vector<fs::path> layer_search_path() try {
  std::vector<fs::path> path;
  const auto add = [&](const fs::path& folder) {
    if (folder.is_absolute() && std::ranges::find(path, folder) == path.end()) path.push_back(folder);
  };
  if (const char* text = std::getenv("WEIR_LAYER_PATH"); text && !process_is_elevated())
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const std::string_view folder = rest.substr(0, colon);
      if (!folder.empty() && folder.front() != '/')
        throw LayersError(
            fmt::format("the environment variable WEIR_LAYER_PATH has the folder '{}'; expected "
                        "absolute folders, separated by colons",
                        folder));
      if (leads_through_proc(fs::path(folder)))
        throw LayersError(
            fmt::format("the environment variable WEIR_LAYER_PATH has the folder '{}', which leads through "
                        "/proc, where the current folder has other names; expected the folder's own path",
                        folder));
      add(fs::path(folder));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  for (const fs::path& folder : driver_search_path()) add(folder.parent_path() / "layers");
  return path;
} catch (...) {
  detail::rethrow_as_error();
}

void put_layers(GpuDriver& driver) {
  std::vector<WantedLayer> all = wanted_layers();
  // The layer that is named last is nearest to the driver.
  for (auto layer = all.rbegin(); layer != all.rend(); ++layer) driver.put_layer(enter(*layer, driver));
}

void set_layers(std::string_view text) try {
  std::vector<WantedLayer> layers = parse_layers(text, "the text for set_layers");
  const std::lock_guard lock(wanted().mutex);
  if (wanted().in_use)
    throw LayersError(
        "set_layers was called after the drivers of the process were loaded; call it before the first use of "
        "a "
        "device");
  wanted().by_code = std::move(layers);
} catch (...) {
  detail::rethrow_as_error();
}

void set_layer_handler(std::function<void(const LayerReport&)> handler) try {
  const std::lock_guard lock(wanted().handler_mutex);
  wanted().handler = std::move(handler);
} catch (...) {
  detail::rethrow_as_error();
}

const std::string& Layer::name() const noexcept {
  return layer_->name;
}

const std::string& Layer::library() const noexcept {
  return layer_->library;
}

void Layer::configure(std::string_view options) const try {
  if (!layer_->layer.configure)
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "the layer '{}' does not accept settings at run time; give them in WEIR_LAYERS or to set_layers",
            layer_->name));
  const std::string text(options);
  Status status;
  const weir_result result = layer_->layer.configure(layer_->layer.self, text.c_str(), &status);
  if (result != WEIR_OK) throw_driver_error(layer_->driver, "configure a layer", result, status);
} catch (...) {
  detail::rethrow_as_error();
}

std::uint64_t Layer::get(std::string_view name) const try {
  if (!layer_->layer.get)
    throw Error(ErrorCode::not_found,
                fmt::format("the layer '{}' keeps no numbers; ask a layer that does, such as validate",
                            layer_->name));
  const std::string text(name);
  std::uint64_t number = 0;
  Status status;
  const weir_result result = layer_->layer.get(layer_->layer.self, text.c_str(), &number, &status);
  if (result != WEIR_OK) throw_driver_error(layer_->driver, "ask a layer", result, status);
  return number;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
