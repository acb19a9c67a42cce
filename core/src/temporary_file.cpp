// SPDX-License-Identifier: Apache-2.0
#include "temporary_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace weir {

TemporaryFile::TemporaryFile(const std::filesystem::path& folder, const std::string& name, Access access)
    : target_(folder / name), access_(access) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
  path_ =
      folder / (name + "." + std::to_string(getpid()) + "-" + std::to_string(random) + std::string(suffix));
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                     access == Access::owner ? 0600 : 0666));
}

TemporaryFile::~TemporaryFile() {
  if (is_open() && !kept_) ::unlink(path_.c_str());
}

bool TemporaryFile::fill(std::string_view bytes, Durability durability) noexcept {
  // The process may have a mask that leaves the owner no right.
  if (access_ == Access::owner && fchmod(file_.get(), 0600) != 0) return false;
  return write_all(file_.get(), bytes) && (durability == Durability::process || fsync(file_.get()) == 0);
}

void TemporaryFile::set_mode(mode_t mode) noexcept {
  // Some file systems refuse modes. The file then stays readable by its owner only.
  if (fchmod(file_.get(), mode) != 0) errno = 0;
}

bool TemporaryFile::keep() noexcept {
  return kept_ = std::rename(path_.c_str(), target_.c_str()) == 0;
}

bool replace_file(const std::filesystem::path& path, std::string_view bytes) {
  // Judged through its links: a pipe at the end of /dev/stdout has no path of its own, so canonical() fails.
  if (path.filename().empty()) {
    errno = path.empty() ? ENOENT : EISDIR;
    return false;
  }
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    return file.get() >= 0 && write_all(file.get(), bytes);
  }
  std::error_code none;
  const std::filesystem::path canonical = std::filesystem::canonical(path, none);
  const std::filesystem::path& target = none ? path : canonical;
  TemporaryFile file(target.has_parent_path() ? target.parent_path() : ".", target.filename().string(),
                     exists ? TemporaryFile::Access::owner : TemporaryFile::Access::by_mask);
  if (!file.is_open() || !file.fill(bytes, TemporaryFile::Durability::process)) return false;
  if (exists && S_ISREG(info.st_mode)) file.set_mode(info.st_mode & 07777);
  return file.keep();
}

}  // namespace weir
