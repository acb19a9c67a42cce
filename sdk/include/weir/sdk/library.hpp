// SPDX-License-Identifier: Apache-2.0
// The vendor's runtime library. It is opened at run time and never linked. A driver therefore builds on every
// machine and can report a missing library where it runs.
//
//   struct Api { int (*init)(unsigned); int (*launch)(...); };
//   constexpr EntryPoint entries[] = {
//       {offsetof(Api, init), "cuInit", 2000, "cuInit"},
//       {offsetof(Api, launch), "cuNewLaunch", 12000, "cuNewLaunch_v2", EntryPoint::optional},
//   };
//   Library library = Library::open({"libcuda.so.1"});
//   const EntryPoint* missing = fill_entry_points(api, entries, find);
//
// `open` throws a Failure{NO_LIBRARY} that lists all attempts. One table lists all functions that a driver
// needs. Rows of one slot must be adjacent, the preferred one first; the first row with a symbol is used. A
// row's version serves libraries that return entry points by version. For other libraries it documents the
// first version with the function.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

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
  std::size_t slot;    ///< offset of the function pointer in the struct to fill
  const char* name;    ///< name in the vendor's documentation
  int version;         ///< of the vendor's interface, in the vendor's numbering
  const char* symbol;  ///< name exported by the library
  Need need = required;
};

class Library {
 public:
  /// Opens the first of `names` that exists, and never closes it, since vendors' libraries do not support
  /// closing. A Failure with WEIR_ERROR_NO_LIBRARY holds every name with the dynamic linker's reason. Names
  /// with the same reason share it: "tried libx.so.2, libx.so.1 (cannot open shared object file: No such file
  /// or directory)".
  static Library open(std::span<const char* const> names) {
    std::vector<std::pair<std::string, std::string>> tried;  // a reason and the names that failed with it
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

  /// Like open(names), but if the environment variable `variable` names a file, only that file is tried, and
  /// the failure names the variable. Processes with elevated privileges ignore the variable.
  static Library open(const char* variable, std::span<const char* const> names) {
    const char* named = secure_getenv(variable);
    if (!named || !*named) return open(names);
    // The dynamic linker would wait for somebody to write to a FIFO.
    struct stat info {};
    if (stat(named, &info) == 0 && !S_ISREG(info.st_mode))
      fail(WEIR_ERROR_NO_LIBRARY, "%s names %s, which is no regular file; correct the variable or unset it",
           variable, named);
    if (void* handle = dlopen(named, RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    fail(WEIR_ERROR_NO_LIBRARY, "%s names %s, which cannot be opened (%s); correct the variable or unset it",
         variable, named, reason_without(named, dlerror()).c_str());
  }

  /// Null if the library has no such symbol.
  void* symbol(const char* name) const noexcept { return dlsym(handle_, name); }

  /// The symbol as a function pointer.
  template <class Function>
  Function function(const char* name) const noexcept {
    void* found = symbol(name);
    Function out = nullptr;
    static_assert(sizeof out == sizeof found);
    std::memcpy(&out, &found, sizeof out);
    return out;
  }

  /// Path of the opened file.
  std::string path() const {
    link_map* map = nullptr;
    return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
  }

 private:
  /// The linker's message begins with the name: "libx.so.1: cannot open shared object file".
  static std::string reason_without(const char* name, const char* why) {
    std::string reason = why ? why : "no reason given";
    const std::string prefix = std::string(name) + ": ";
    return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
  }

  explicit Library(void* handle) noexcept : handle_(handle) {}
  void* handle_;
};

/// Fills the function pointers of `api` from the table. `find(row)` returns an address or null. Returns the
/// first required row that was not found, or null if there is none.
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
