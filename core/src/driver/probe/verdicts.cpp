// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/verdicts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/driver.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <vector>

#include "descriptor.hpp"
#include "driver/discovery/manifest.hpp"
#include "driver/trust/private_folder.hpp"
#include "driver/trust/trust.hpp"
#include "folder_names.hpp"
#include "temporary_file.hpp"

// Used header-only, so that libweir needs no library for it at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "weir-probes 3\n";
constexpr std::size_t max_entries = 128;
constexpr std::size_t max_verdict_bytes = 512 * 1024;
constexpr std::size_t key_length = 32;
constexpr std::int64_t day = 24 * 60 * 60;

std::string hash_text(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }

  void add(std::string_view bytes) {
    // The length distinguishes "ab" + "c" from "a" + "bc".
    const std::uint64_t size = bytes.size();
    XXH3_128bits_update(&state_, &size, sizeof size);
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }

  // Returns false when the file cannot be read.
  bool add_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return false;
    // Small and uninitialized, because the first use of each page of memory takes longer than hashing the page.
    constexpr std::size_t buffer_bytes = 32 * 1024;
    const auto buffer = std::make_unique_for_overwrite<char[]>(buffer_bytes);
    std::uint64_t size = 0;
    for (;;) {
      const ssize_t got = ::read(file.get(), buffer.get(), buffer_bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      if (got == 0) break;
      XXH3_128bits_update(&state_, buffer.get(), static_cast<std::size_t>(got));
      size += static_cast<std::uint64_t>(got);
    }
    XXH3_128bits_update(&state_, &size, sizeof size);
    return true;
  }

  std::string take() const { return hash_text(XXH3_128bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

// The index of the system's loader, which changes when a vendor's library is installed, updated or removed,
// and the environment variables that name other libraries.
std::string where_libraries_are_found() {
  struct stat index {};
  std::string text;
  if (stat("/etc/ld.so.cache", &index) == 0)
    text = fmt::format("{} {}.{}", index.st_size, index.st_mtim.tv_sec, index.st_mtim.tv_nsec);
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) text += fmt::format(" {}", path);
  // Those that name a library, and those of Vulkan's loader.
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view setting = *variable, name = setting.substr(0, setting.find('='));
    if ((name.starts_with("WEIR_") && name.ends_with("_LIBRARY")) || name.starts_with("VK_"))
      text += fmt::format(" {}", setting);
  }
  return text;
}

std::string read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max_verdict_bytes) return {};
  // The file is only ever replaced, never written in place; bytes that are missing fail its checksum.
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// Removes temporary files of processes that were killed while they wrote.
void remove_leftovers(const fs::path& file) {
  const std::string prefix = file.filename().string() + ".";
  for_each_name(file.parent_path(), [&](std::string_view name) {
    if (!name.starts_with(prefix)) return;
    const fs::path leftover = file.parent_path() / name;
    struct stat info {};
    if (stat(leftover.c_str(), &info) == 0 && info.st_mtime < std::time(nullptr) - 60)
      unlink(leftover.c_str());
  });
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string verdict_key(const fs::path& manifest_file, const Manifest& manifest) {
  Hasher hasher;
  hasher.add(abi_text(WEIR_ABI_CURRENT));
  if (!manifest.vendor_libraries.empty()) hasher.add(where_libraries_are_found());
  return hasher.add_file(manifest_file) && hasher.add_file(manifest.library) ? hasher.take() : std::string();
}

std::optional<ProbeOutcome> Verdicts::find(const std::string& key, std::int64_t now) {
  if (!was_read_) known_ = read();
  was_read_ = true;
  const auto found = known_.find(key);
  if (found == known_.end()) return std::nullopt;
  const std::int64_t age = now - found->second.time;
  const bool old = age > day || age < -day;
  if (old && !is_sound(found->second.outcome)) return std::nullopt;
  return found->second.outcome;
}

void Verdicts::add(const std::string& key, const ProbeOutcome& outcome) {
  if (file_.empty() || key.empty()) return;
  added_[key] = {std::time(nullptr), outcome};
}

void Verdicts::save() noexcept {
  if (added_.empty()) return;
  try {
    problem_ = make_private_folder(file_.parent_path(), 2);
    if (!problem_.empty()) return;
    Entries entries = read();
    for (const auto& [key, entry] : added_) entries[key] = entry;
    while (entries.size() > max_entries)
      entries.erase(std::min_element(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return a.second.time < b.second.time;
      }));
    write(print(entries));
    added_.clear();
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
}

Verdicts::Entries Verdicts::read() {
  if (file_.empty() || access(file_.c_str(), F_OK) != 0) return {};
  if (std::string why = why_untrusted(file_); !why.empty()) {
    problem_ = std::move(why);
    return {};
  }
  return parse(read_file(file_));
}

Verdicts::Entries Verdicts::parse(std::string_view text) {
  constexpr std::size_t trailer = key_length + 1;
  if (!text.starts_with(first_line) || text.size() < first_line.size() + trailer || text.back() != '\n')
    return {};
  const std::string_view body = text.substr(0, text.size() - trailer);
  if (text.substr(body.size(), key_length) != hash_text(XXH3_128bits(body.data(), body.size()))) return {};

  Entries entries;
  for (std::string_view rest = body.substr(first_line.size()); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    std::int64_t time = 0;
    if (first != key_length || second == line.npos ||
        !read_number(line.substr(first + 1, second - first - 1), time))
      return {};
    const auto outcome = parse_probe_outcome(line.substr(second + 1));
    if (!outcome) return {};
    entries[std::string(line.substr(0, first))] = {time, *outcome};
  }
  return entries;
}

std::string Verdicts::print(const Entries& entries) {
  std::string text(first_line);
  for (const auto& [key, entry] : entries)
    text += fmt::format("{} {} {}\n", key, entry.time, to_text(entry.outcome));
  return text + hash_text(XXH3_128bits(text.data(), text.size())) + "\n";
}

// Not synced, because fsync would add milliseconds to a first start. The hash rejects a file that a power
// failure truncated.
void Verdicts::write(const std::string& text) {
  remove_leftovers(file_);
  const auto fail = [&](std::string_view what) {
    problem_ = fmt::format("{} cannot be {}: {}", file_.string(), what, strerrordesc_np(errno));
  };
  TemporaryFile file(file_.parent_path(), file_.filename().string());
  if (!file.is_open() || !file.fill(text, TemporaryFile::Durability::process)) return fail("written");
  problem_ = why_untrusted(file.path());
  if (problem_.empty() && !file.keep()) fail("replaced");
}

}  // namespace weir
