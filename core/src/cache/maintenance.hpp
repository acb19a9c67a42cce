// SPDX-License-Identifier: Apache-2.0
// The contents of a cache folder: its entries, their size, and their removal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>

#include "cache/entry.hpp"

namespace weir::cache {

inline constexpr const char* usage_name = "weir-usage";

/// Records that an entry of `bytes` was written, and returns about how many bytes all entries have. The file
/// `weir-usage` grows by one byte for each 4 KiB, so that no process reads the folder at its start. Returns
/// the largest number when it cannot be recorded.
std::uint64_t add_usage(const std::filesystem::path& folder, std::uint64_t bytes) noexcept;

/// Removes the least recently used entries until the rest has less than nine tenths of `limit`, and temporary
/// files that processes left when they were killed. Does nothing while another process does the same. Returns
/// the number of removed entries.
/// Keeps the entry `newest`, because times have a resolution of milliseconds.
std::uint64_t evict(const std::filesystem::path& folder, std::uint64_t limit,
                    std::string_view newest) noexcept;

struct Listed {
  std::filesystem::path file;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  ///< nanoseconds since 1970
};

/// The files of entries in `folder`, the most recently used first; empty when the folder cannot be read.
WEIR_API std::vector<Listed> list_entries(const std::filesystem::path& folder);
/// The entry in `file`; nothing when it is damaged, of another version, or stored under a wrong name.
WEIR_API std::optional<Entry> read_entry(const std::filesystem::path& file);
/// Removes the entries, counts and left temporary files in `folder`, and no other files. Returns the number
/// of removed entries.
WEIR_API std::uint64_t clear(const std::filesystem::path& folder) noexcept;

}  // namespace weir::cache
