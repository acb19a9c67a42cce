// SPDX-License-Identifier: Apache-2.0
#include "files/contents.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "descriptor.hpp"
#include "temporary_file.hpp"

namespace weir::files {

std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view expected) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::system,
                path.string() + ": cannot read the file: " + why + "; expected " + std::string(expected));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0) fail(strerrordesc_np(errno));
  if (!S_ISREG(info.st_mode)) fail("it is not a regular file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(strerrordesc_np(errno));
    if (got == 0) fail("it became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (path.empty()) throw Error(ErrorCode::invalid, "the name of a file to write is empty; give a path");
  if (replace_file(path, text)) return;
  throw Error(ErrorCode::system, path.string() + ": cannot write the file: " + strerrordesc_np(errno) +
                                     "; choose a folder that this user may write, with enough space");
}

}  // namespace weir::files
