// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/search_path.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "driver/discovery/plugin_kind.hpp"
#include "driver/environment.hpp"
#include "driver/trust/trust.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

// One folder for every architecture, because a manifest names its library's architecture.
constexpr std::string_view system_folder = "/usr/lib/weir";

// The file that is mapped at that address. Empty if it is unknown or was removed.
fs::path mapped_file(std::uintptr_t address) {
  std::ifstream mappings("/proc/self/maps");
  for (std::string line; std::getline(mappings, line);) {
    std::uintptr_t begin = 0, end = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &path) != 2 ||
        address < begin || address >= end)
      continue;
    line.erase(0, static_cast<std::size_t>(path));
    return line.starts_with('/') && !line.ends_with(" (deleted)") ? fs::path(line) : fs::path();
  }
  return {};
}

fs::path own_library() {
  Dl_info info{};
  const auto here = reinterpret_cast<std::uintptr_t>(&own_library);
  if (dladdr(reinterpret_cast<const void*>(here), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  // dli_fname of a program is the name with which it was started, possibly without a folder. Of a library
  // that was found by a relative path it is that path, and the current folder may be another one by now.
  fs::path named = info.dli_fname;
  if (!named.has_parent_path())
    named = "/proc/self/exe";
  else if (named.is_relative())
    named = mapped_file(here);
  fs::path real = fs::canonical(named, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  return error ? fs::path() : real;
}

class Collector {
 public:
  explicit Collector(PluginKind kind) : kind_(kind) {}

  void add(const fs::path& path, SearchOrigin origin) {
    if (path.empty()) return;
    SearchFolder folder{path, origin, {}, kind_};
    if (path.is_relative()) {
      folder.ignored = fmt::format("it is relative, and {} are never taken from the current folder",
                                   terms_of(kind_).plural);
    } else if (leads_through_proc(path)) {
      folder.ignored = "it leads through /proc, where the current folder has other names";
    } else {
      // Keeps the spelling of the path, because trust also checks the links in it.
      if (!path.has_filename()) folder.path = path.parent_path();
      std::error_code error;
      const fs::path real = fs::weakly_canonical(folder.path, error);
      if (!searched_.insert(error ? folder.path.lexically_normal() : real).second) return;
    }
    folders_.push_back(std::move(folder));
  }

  void add_ignored(const fs::path& path, SearchOrigin origin, std::string_view why) {
    if (!path.empty()) folders_.push_back({path, origin, std::string(why), kind_});
  }

  std::vector<SearchFolder> take() { return std::move(folders_); }

 private:
  PluginKind kind_;
  std::vector<SearchFolder> folders_;
  std::set<fs::path> searched_;  // real paths
};

}  // namespace

bool leads_through_proc(const fs::path& path) {
  constexpr int max_links = 40;  // as Linux follows
  fs::path rest = path.lexically_normal(), walked;
  for (int links = 0; links <= max_links; ++links) {
    walked = "/";
    auto part = rest.begin();
    if (rest.is_absolute()) ++part;
    for (; part != rest.end(); ++part) {
      walked /= *part;
      if (walked == "/proc") return true;
      std::error_code error;
      fs::path target = fs::read_symlink(walked, error);
      if (error) continue;
      target = walked.parent_path() / target;
      while (++part != rest.end()) target /= *part;
      rest = target.lexically_normal();
      break;
    }
    if (part == rest.end()) return false;
  }
  return true;  // a loop of links leads nowhere
}

std::string_view to_string(SearchOrigin origin, PluginKind kind) noexcept {
  switch (origin) {
    case SearchOrigin::environment:
      return terms_of(kind).path_variable;
    case SearchOrigin::user:
      return "user";
    case SearchOrigin::install:
      return "install";
    case SearchOrigin::system:
      return "system";
  }
  return "";
}

SearchInputs current_search_inputs(PluginKind kind) {
  return {environment(terms_of(kind).path_variable), environment("XDG_DATA_HOME"), environment("HOME"),
          own_library(), process_is_elevated()};
}

// The library's folder contains weir/. Programs that contain the same code are in bin/, next to lib/, or in
// weir/ itself.
fs::path weir_folder(const fs::path& own_library) {
  const fs::path folder = own_library.parent_path();
  if (folder.filename() == "bin") return folder.parent_path() / WEIR_LIBDIR "/weir";
  return own_library.filename() == probe_program ? folder : folder / "weir";
}

std::vector<SearchFolder> make_search_path(const SearchInputs& inputs, PluginKind kind) {
  const std::string_view plural = terms_of(kind).plural;
  Collector folders(kind);
  constexpr std::string_view elevated = "the process runs with rights that its caller lacks";

  for (std::string_view rest = inputs.plugin_path; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path entry = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (inputs.elevated)
      folders.add_ignored(entry, SearchOrigin::environment, elevated);
    else
      folders.add(entry, SearchOrigin::environment);
  }

  if (!inputs.elevated) {
    // The XDG specification requires that a relative XDG_DATA_HOME is ignored.
    if (fs::path(inputs.data_home).is_absolute())
      folders.add(fs::path(inputs.data_home) / "weir" / plural, SearchOrigin::user);
    else if (fs::path(inputs.home).is_absolute())
      folders.add(fs::path(inputs.home) / ".local/share/weir" / plural, SearchOrigin::user);
  }
  if (!inputs.own_library.empty())
    folders.add(weir_folder(inputs.own_library) / plural, SearchOrigin::install);
  folders.add(fs::path(system_folder) / plural, SearchOrigin::system);
  return folders.take();
}

std::vector<SearchFolder> plugin_search_folders(PluginKind kind) try {
  return make_search_path(current_search_inputs(kind), kind);
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<SearchFolder> driver_search_folders() {
  return plugin_search_folders(PluginKind::driver);
}

std::vector<fs::path> driver_search_path() try {
  return plugin_search_path(PluginKind::driver);
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<fs::path> communicator_search_path() try {
  return plugin_search_path(PluginKind::communicator);
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<fs::path> plugin_search_path(PluginKind kind) {
  std::vector<fs::path> path;
  for (SearchFolder& folder : plugin_search_folders(kind))
    if (folder.ignored.empty()) path.push_back(std::move(folder.path));
  return path;
}

}  // namespace weir
