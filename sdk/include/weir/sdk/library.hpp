// SPDX-License-Identifier: Apache-2.0
// The vendor's runtime library, opened at run time and never linked, so that a driver builds on every machine
// and can say what is missing where it runs.
//
//   struct Api { int (*init)(unsigned); int (*launch)(...); };
//   constexpr EntryPoint entries[] = {
//       {offsetof(Api, init), "cuInit", 2000, "cuInit"},
//       {offsetof(Api, launch), "cuNewLaunch", 12000, "cuNewLaunch_v2", EntryPoint::optional},
//   };
//   Library library = Library::open({"libcuda.so.1"});
//   const EntryPoint* missing = fill_entry_points(api, entries, find);
//
// `open` throws a Failure{NO_LIBRARY} that names all that was tried. One table says all that a driver asks of
// its vendor. Rows of one slot stand together, the preferred one first: the first that is found counts. A
// row's version is for libraries that hand entry points out by version; elsewhere it documents since when the
// vendor has the function.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "status.hpp"

namespace weir::sdk {

struct EntryPoint {
  enum Need : bool { required, optional };
  std::size_t slot;    ///< offset of the function pointer in the struct that is filled
  const char* name;    ///< as the vendor documents it
  int version;         ///< of the vendor's interface, in the vendor's own numbers
  const char* symbol;  ///< as the library exports it
  Need need = required;
};

class Library {
 public:
  /// Opens the first of `names` that exists, and never closes it: vendors' libraries do not survive that. A
  /// Failure with WEIR_ERROR_NO_LIBRARY holds every name with the dynamic linker's reason. Names with the
  /// same reason share it: "tried libx.so.2, libx.so.1 (cannot open shared object file: No such file or
  /// directory)".
  static Library open(std::span<const char* const> names) {
    std::vector<std::pair<std::string, std::string>> tried;  // a reason, and the names that failed for it
    for (const char* name : names) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle);
      const std::string reason = reason_without(name, dlerror());
      auto same = tried.begin();
      while (same != tried.end() && same->first != reason) ++same;
      if (same == tried.end())
        tried.emplace_back(reason, name);
      else
        same->second += std::string(", ") + name;
    }
    std::string text;
    for (const auto& [reason, failed] : tried)
      text += (text.empty() ? "" : "; ") + failed + " (" + reason + ")";
    fail(WEIR_ERROR_NO_LIBRARY, "the vendor's library cannot be opened; tried %s", text.c_str());
  }
  static Library open(std::initializer_list<const char*> names) {
    return open(std::span<const char* const>(names.begin(), names.size()));
  }

  /// The same, but the file that an environment variable names comes instead of all of them, for tests.
  /// Processes that run elevated do not look at it.
  static Library open(const char* variable, std::span<const char* const> names) {
    const char* named = secure_getenv(variable);
    return named && *named ? open({named}) : open(names);
  }

  /// Null when the library has no such symbol.
  void* symbol(const char* name) const noexcept { return dlsym(handle_, name); }

  /// The same as a function pointer.
  template <class Function>
  Function function(const char* name) const noexcept {
    void* found = symbol(name);
    Function out = nullptr;
    static_assert(sizeof out == sizeof found);
    std::memcpy(&out, &found, sizeof out);
    return out;
  }

  /// The file that was opened.
  std::string path() const {
    link_map* map = nullptr;
    return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
  }

 private:
  /// The linker begins its words with the name: "libx.so.1: cannot open shared object file".
  static std::string reason_without(const char* name, const char* why) {
    std::string reason = why ? why : "no reason given";
    const std::string prefix = std::string(name) + ": ";
    return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
  }

  explicit Library(void* handle) noexcept : handle_(handle) {}
  void* handle_;
};

/// Fills the function pointers of `api` from the table. `find(row)` gives an address or null. Returns the
/// first required row that was not found, null when there is none.
template <class Api, class Find>
const EntryPoint* fill_entry_points(Api& api, std::span<const EntryPoint> rows, Find&& find) {
  static_assert(std::is_standard_layout_v<Api>, "rows name slots by their offset");
  const EntryPoint* missing = nullptr;
  for (std::size_t i = 0; i < rows.size();) {
    const EntryPoint& first = rows[i];
    void* found = nullptr;
    for (; i < rows.size() && rows[i].slot == first.slot; ++i)
      if (!found) found = find(rows[i]);
    std::memcpy(reinterpret_cast<std::byte*>(&api) + first.slot, &found, sizeof found);
    if (!found && first.need == EntryPoint::required && !missing) missing = &first;
  }
  return missing;
}

/// Whether every row whose name begins with `prefix` has a function.
template <class Api>
bool has_entry_points(const Api& api, std::span<const EntryPoint> rows, std::string_view prefix) noexcept {
  for (const EntryPoint& row : rows) {
    void* found = nullptr;
    std::memcpy(&found, reinterpret_cast<const std::byte*>(&api) + row.slot, sizeof found);
    if (!found && std::string_view(row.name).starts_with(prefix)) return false;
  }
  return true;
}

}  // namespace weir::sdk
