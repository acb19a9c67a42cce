// SPDX-License-Identifier: Apache-2.0
#include "cache/maintenance.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "cache/files.hpp"
#include "cache/statistics.hpp"
#include "descriptor.hpp"
#include "folder_names.hpp"
#include "temporary_file.hpp"

namespace weir::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t block_bytes = 4096;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t longest_write = 3600 * second;  // older temporary files belong to dead writers

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * second + time.tv_nsec;
}

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes;
}

bool is_temporary_name(std::string_view name) {
  const std::size_t entry = name.find(entry_suffix);
  return entry != name.npos && is_entry_name(name.substr(0, entry + entry_suffix.size())) &&
         name.ends_with(TemporaryFile::suffix);
}

struct Contents {
  std::vector<Listed> entries, temporary;
};

Contents read_folder(const fs::path& folder) {
  Contents contents;
  for_each_name(folder, [&](std::string_view name) {
    const bool is_entry = is_entry_name(name);
    if (!is_entry && !is_temporary_name(name)) return;
    const fs::path file = folder / name;
    struct stat info {};
    if (lstat(file.c_str(), &info) != 0) return;
    (is_entry ? contents.entries : contents.temporary)
        .push_back({file, static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim)});
  });
  return contents;
}

/// An entry dated in the future predates a change of the clock. It sorts as the oldest, because it would
/// never be evicted otherwise.
void sort_by_use(std::vector<Listed>& entries) {
  const std::int64_t future = now() + second;
  const auto order = [&](const Listed& entry) { return entry.used > future ? 0 : entry.used; };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Listed& a, const Listed& b) { return order(a) > order(b); });
}

void remove_left(const std::vector<Listed>& temporary) {
  const std::int64_t time = now();
  for (const Listed& file : temporary)
    if (file.used < time - longest_write || file.used > time + longest_write) unlink(file.file.c_str());
}

std::uint64_t size_of(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace

std::uint64_t add_usage(const fs::path& folder, std::uint64_t bytes) noexcept try {
  const Descriptor file(open_in(folder, usage_name, O_WRONLY | O_APPEND | O_CREAT));
  const bool recorded = file.get() >= 0 && write_all(file.get(), std::string(blocks_of(bytes), '\n'));
  return recorded ? size_of(file.get()) * block_bytes : std::numeric_limits<std::uint64_t>::max();
} catch (...) {
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t evict(const fs::path& folder, std::uint64_t limit, std::string_view newest) noexcept try {
  const Descriptor usage(open_in(folder, usage_name, O_WRONLY | O_CREAT));
  // Without a file to lock, two processes may remove the same entries, which is harmless.
  if (usage.get() >= 0 && flock(usage.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 0;
  const std::uint64_t before = usage.get() >= 0 ? size_of(usage.get()) : 0;
  Contents contents = read_folder(folder);
  remove_left(contents.temporary);
  sort_by_use(contents.entries);
  std::stable_partition(contents.entries.begin(), contents.entries.end(),
                        [&](const Listed& entry) { return entry.file.filename() == newest; });
  const std::uint64_t max_blocks = limit / block_bytes - limit / block_bytes / 10;
  std::uint64_t kept = 0, removed = 0;
  for (const Listed& entry : contents.entries) {
    const std::uint64_t blocks = blocks_of(entry.bytes);
    if (kept + blocks <= max_blocks || entry.file.filename() == newest)
      kept += blocks;
    else
      removed += unlink(entry.file.c_str()) == 0;
  }
  if (usage.get() >= 0) {
    const std::uint64_t added = std::max(size_of(usage.get()), before) - before;
    [[maybe_unused]] const int ignored = ftruncate(usage.get(), static_cast<off_t>(kept + added));
  }
  return removed;
} catch (...) {
  return 0;
}

std::vector<Listed> list_entries(const fs::path& folder) {
  std::vector<Listed> entries = read_folder(folder).entries;
  sort_by_use(entries);
  return entries;
}

std::optional<Entry> read_entry(const fs::path& file) {
  const Descriptor opened(open_in(file.parent_path(), file.filename().c_str(), O_RDONLY));
  std::string bytes;
  if (opened.get() < 0 || !read_all(opened.get(), bytes)) return std::nullopt;
  std::optional<Entry> entry = decode_entry(bytes);
  if (entry && entry_name(entry->input) != file.filename()) return std::nullopt;
  return entry;
}

std::uint64_t clear(const fs::path& folder) noexcept try {
  const Contents contents = read_folder(folder);
  std::uint64_t removed = 0;
  for (const Listed& entry : contents.entries) removed += unlink(entry.file.c_str()) == 0;
  remove_left(contents.temporary);  // the others are being written
  for (const char* name : {usage_name, statistics_name}) unlink((folder / name).c_str());
  return removed;
} catch (...) {
  return 0;
}

}  // namespace weir::cache
