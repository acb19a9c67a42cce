// SPDX-License-Identifier: Apache-2.0
// A folder of entries that processes share. Files are replaced atomically, and each read verifies a checksum,
// so no process ever waits for another and a damaged file counts as absent.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cache/entry.hpp"
#include "cache/statistics.hpp"

namespace weir::cache {

struct Settings {
  /// Contains the entries and nothing else. Its missing parents are created too.
  std::filesystem::path folder;
  /// The bytes that the entries may take; the least recently used ones are removed. Counted in blocks of 4
  /// KiB.
  std::uint64_t limit = std::uint64_t{1} << 30;
  /// Creates the folder and returns "", or why it cannot be created.
  std::function<std::string(const std::filesystem::path& folder)> create;
  /// Why the folder must not be used and what to do about it, because others may write it; "" when it may be
  /// used.
  std::function<std::string(const std::filesystem::path& folder)> distrust;
  /// Called at most once, with a sentence for the user: the folder is not used, or not written.
  std::function<void(const std::string& problem)> warn;
};

/// Thread-safe. Failures of the file system never throw: an unreadable entry counts as absent, and an entry
/// that cannot be written is dropped.
class Store {
 public:
  explicit Store(Settings settings) : settings_(std::move(settings)) {}
  const Settings& settings() const { return settings_; }

  /// The code that was added for `input`; marks it as used now.
  std::optional<std::string> find(std::string_view input) noexcept;
  /// Keeps the entry for other processes. Removes other entries when the limit is exceeded.
  void add(const Entry& entry) noexcept;
  /// Writes the counts that are not written yet.
  ~Store();

 private:
  std::optional<Entry> read(const std::string& name);
  void write(const std::string& name, std::string_view bytes);
  void account(const std::string& newest, std::uint64_t bytes);
  /// Whether the folder may be used. Asks `distrust` when it has changed, and warns.
  bool is_usable();
  void warn(const std::string& problem);
  /// Writes the counts when a fixed part of all of this process is new, since a write costs as much as a
  /// look-up. A process that does not destroy the store loses at most that part.
  void count(const Statistics& more) noexcept;
  void write_counts() noexcept;

  const Settings settings_;
  std::mutex mutex_;                   // of the following; never held during a call of the file system
  std::optional<struct stat> judged_;  // the folder's state when `distrust` returned `refusal_`
  std::string refusal_;
  bool warned_ = false;
  Statistics pending_;
  std::uint64_t events_ = 0, written_events_ = 0;  // calls of count(), and those that are in the file
};

}  // namespace weir::cache
