// SPDX-License-Identifier: Apache-2.0
#include "driver/dynamic_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <mutex>
#include <new>
#include <vector>

#include "driver/discovery/plugin_kind.hpp"

namespace weir {
namespace {

// Library handles are never closed, because a plugin may have running threads and open handles when the
// process ends. Storing them here keeps them reachable for leak checkers.
void keep_for_ever(boost::dll::shared_library library) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<boost::dll::shared_library>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(library));
}

std::string last_loader_message() {
  const char* const words = dlerror();
  return words ? words : "the system's loader gave no reason";
}

/// The library in "libfoo.so.1: cannot open shared object file: No such file or directory"; else empty.
std::string_view missing_library(std::string_view words) {
  const auto at = words.find(": cannot open shared object file: No such file");
  return at == words.npos ? std::string_view() : words.substr(0, at);
}

// The text between `begin` and `end` in `words`, or all text after `begin` when `end` does not occur.
std::string_view between(std::string_view words, std::string_view begin, std::string_view end) {
  const std::size_t at = words.find(begin);
  if (at == words.npos) return {};
  words.remove_prefix(at + begin.size());
  return words.substr(0, words.find(end));
}

}  // namespace

Refusal explain_loader_message(std::string_view words, const std::filesystem::path& library,
                               std::span<const std::string> vendor_libraries, PluginKind kind) {
  const std::string_view plugin = terms_of(kind).name;
  const std::string file = library.filename().string();
  if (const std::string_view missing = missing_library(words); !missing.empty()) {
    const bool vendor =
        std::find(vendor_libraries.begin(), vendor_libraries.end(), missing) != vendor_libraries.end();
    return {vendor ? DriverStatus::no_vendor_library : DriverStatus::broken,
            fmt::format("{} needs the library {}, which was not found", file, missing),
            fmt::format("install the package that provides {}", missing)};
  }
  // "/path/libweir-x.so: undefined symbol: name", sometimes followed by ", version V"
  if (const std::string_view symbol = between(words, "undefined symbol: ", ","); !symbol.empty())
    return {DriverStatus::broken,
            fmt::format("{} uses the symbol {}, which no library provides", file, symbol),
            fmt::format("reinstall the {}, or rebuild it with the library that defines the symbol", plugin)};
  // "/lib/libc.so.6: version `GLIBC_2.38' not found (required by /path/libweir-x.so)"
  if (const std::string_view version = between(words, "version `", "'"); !version.empty())
    return {DriverStatus::broken,
            fmt::format("{} needs {} of {}, which is not installed", file, version,
                        words.substr(0, words.find(": version"))),
            fmt::format("install a build of the {} made for this system, or update the system", plugin)};
  return {DriverStatus::broken, fmt::format("{} cannot be loaded: {}", file, words),
          fmt::format("reinstall the {}", plugin)};
}

// Opens the library by its path instead of /proc/self/fd/N. A debugger opens the name that the loader
// records, and in the debugger's process that descriptor is another file or a terminal. The path is as safe
// as the descriptor, because only root and the user may change a component of it. The first verify() confirms
// that the ELF checks apply to this file. The second one rejects a driver whose package was updated during
// the call.
void* open_plugin_library(const TrustedFile& file, PluginKind kind,
                          std::span<const std::string> vendor_libraries) {
  using boost::dll::load_mode::rtld_local;
  using boost::dll::load_mode::rtld_now;
  const std::filesystem::path& path = file.path();
  std::error_code error;
  boost::dll::shared_library library;
  file.verify();
  library.load(path, rtld_now | rtld_local, error);
  std::string words = error ? last_loader_message() : "";
  // glibc also reports a library as missing when it had no memory for a path where the library might be.
  if (!missing_library(words).empty()) {
    error.clear();
    library.load(path, rtld_now | rtld_local, error);
    if (error) words = last_loader_message();
  }
  if (error) {
    // The file was opened before, so glibc had no memory for its name if it now reports the file as missing.
    if (words.starts_with(path.string() + ": cannot open shared object file")) throw std::bad_alloc();
    throw explain_loader_message(words, path, vendor_libraries, kind);
  }
  const PluginTerms& terms = terms_of(kind);
  void* entry = nullptr;
  if (library.has(terms.entry)) entry = reinterpret_cast<void*>(&library.get<void()>(terms.entry));
  keep_for_ever(std::move(library));
  file.verify();
  if (!entry)
    throw Refusal{DriverStatus::broken,
                  fmt::format("{} exports no symbol {}", path.filename().string(), terms.entry),
                  fmt::format("reinstall the {0}; a {0}'s author exports the symbol with WEIR_DRIVER_EXPORT",
                              terms.name)};
  return entry;
}

}  // namespace weir
