// SPDX-License-Identifier: Apache-2.0
#include "cache/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cache/entry.hpp"

namespace weir::cache {

int open_in(const std::filesystem::path& folder, const char* name, int flags) noexcept try {
  const std::filesystem::path path = folder / name;
  const int file = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  struct stat info {};
  if (file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode))) return file;
  close(file);
  errno = EINVAL;
  return -1;
} catch (...) {
  errno = ENOMEM;
  return -1;
}

bool read_all(int file, std::string& bytes) {
  struct stat info {};
  if (fstat(file, &info) != 0) return false;
  if (static_cast<std::uint64_t>(info.st_size) > max_entry_bytes) {
    errno = EFBIG;
    return false;
  }
  bytes.resize(static_cast<std::size_t>(info.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) bytes.resize(done);  // truncated meanwhile
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace weir::cache
