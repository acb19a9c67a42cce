// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cache/files.hpp"
#include "cache/maintenance.hpp"
#include "descriptor.hpp"
#include "temporary_file.hpp"

namespace weir::cache {
namespace {

bool same_state(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_uid == b.st_uid && a.st_mode == b.st_mode;
}

/// Whether nobody else can have written the file. In a folder that only root and this user may write, others
/// own no file that they did not own before. With an access control list, the mode's group bits hold its
/// mask.
bool is_private(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid()) &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::optional<std::string> Store::find(std::string_view input) noexcept try {
  std::optional<Entry> entry = read(entry_name(input));
  const bool hit = entry && entry->input == input;
  Statistics event;
  (hit ? event.hits : event.misses) = 1;
  if (hit && entry->seconds > 0) event.saved_microseconds = static_cast<std::uint64_t>(entry->seconds * 1e6);
  count(event);
  if (!hit) return std::nullopt;
  return std::move(entry->code);
} catch (...) {  // memory is short: the same as absent
  return std::nullopt;
}

std::optional<Entry> Store::read(const std::string& name) {
  const Descriptor file(open_in(settings_.folder, name.c_str(), O_RDONLY));
  if (file.get() < 0 || !is_private(file.get()) || !is_usable()) return std::nullopt;
  std::string bytes;
  if (!read_all(file.get(), bytes)) return std::nullopt;
  std::optional<Entry> entry = decode_entry(bytes);
  // The order of use, as far as the file system allows it to be written.
  if (entry) futimens(file.get(), nullptr);
  return entry;
}

void Store::add(const Entry& entry) noexcept try {
  const std::string bytes = encode_entry(entry);
  if (bytes.size() > std::min<std::uint64_t>(max_entry_bytes, settings_.limit)) return;
  write(entry_name(entry.input), bytes);
} catch (...) {
}

void Store::write(const std::string& name, std::string_view bytes) {
  const std::filesystem::path& folder = settings_.folder;
  if (access(folder.c_str(), F_OK) != 0)
    if (const std::string reason = settings_.create(folder); !reason.empty()) return warn(reason);
  if (!is_usable()) return;
  TemporaryFile file(folder, name);
  const auto fail = [&] {
    const int error = errno;
    // Another process removed the file or the folder. Where no file can be created, in /proc for example,
    // Linux reports the same error.
    if (error == ENOENT && (file.is_open() || access(folder.c_str(), F_OK) != 0)) return;
    warn(fmt::format("{} cannot be written: {}; code is generated again in each process", folder.string(),
                     strerrordesc_np(error)));
  };
  if (!file.is_open()) return fail();
  if (!file.fill(bytes, TemporaryFile::Durability::power_failure) || !file.keep()) return fail();
  account(name, bytes.size());
  write_counts();  // the miss, which came before the folder was there
}

void Store::account(const std::string& newest, std::uint64_t bytes) {
  if (add_usage(settings_.folder, bytes) <= settings_.limit) return;
  count({.evictions = evict(settings_.folder, settings_.limit, newest)});
}

bool Store::is_usable() {
  struct stat folder {};
  if (stat(settings_.folder.c_str(), &folder) != 0) return false;  // removed meanwhile
  {
    const std::lock_guard lock(mutex_);
    if (judged_ && same_state(*judged_, folder)) return refusal_.empty();
  }
  const std::string refusal = settings_.distrust(settings_.folder);
  // Nothing is known about a folder that another process has removed meanwhile.
  if (!refusal.empty() && access(settings_.folder.c_str(), F_OK) != 0 && errno == ENOENT) return false;
  {
    const std::lock_guard lock(mutex_);
    judged_ = folder;
    refusal_ = refusal;
  }
  if (!refusal.empty()) warn(refusal);
  return refusal.empty();
}

void Store::warn(const std::string& problem) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(warned_, true)) return;
  }
  settings_.warn(problem);
}

void Store::count(const Statistics& more) noexcept {
  constexpr std::uint64_t unwritten_part = 32;  // one in so many
  {
    const std::lock_guard lock(mutex_);
    pending_ += more;
    ++events_;
    if (events_ - written_events_ <= written_events_ / unwritten_part) return;
  }
  write_counts();
}

void Store::write_counts() noexcept try {
  // It may be another folder than the one that was read.
  if (!is_usable()) return;
  Statistics all;
  std::uint64_t events;
  {
    const std::lock_guard lock(mutex_);
    all = std::exchange(pending_, {});
    events = events_;
  }
  if (all == Statistics()) return;
  const bool written = add_statistics(settings_.folder, all);
  const std::lock_guard lock(mutex_);
  if (written)
    written_events_ = events;
  else
    pending_ += all;
} catch (...) {  // memory is short: they are counted later, or not at all
}

Store::~Store() {
  write_counts();
}

}  // namespace weir::cache
