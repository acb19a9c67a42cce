// SPDX-License-Identifier: Apache-2.0
#include "code/perf_map.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <weir/sdk/file_size_signal.hpp>

#include "machine.hpp"

namespace weir::cpu {
namespace {

/// Opens a regular file of this user; refuses a different object that another user may have created under
/// that name.
int open_map() noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/perf-%ld.map", static_cast<long>(getpid()));
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  struct stat status;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
    return file;
  if (file >= 0) close(file);
  return -1;
}

}  // namespace

void write_perf_map(const ElfFile& file, const std::byte* bias, const std::string& name) noexcept try {
  if (!Machine::get().perf_map) return;
  std::string lines;
  for (const ElfFile::Symbol& symbol : file.symbols()) {
    if (!symbol.defined || symbol.type != STT_FUNC || symbol.bytes == 0) continue;
    char place[64];
    std::snprintf(place, sizeof place, "%" PRIx64 " %" PRIx64 " ",
                  reinterpret_cast<std::uint64_t>(bias) + symbol.value, symbol.bytes);
    lines.append(place).append(symbol.name);
    if (!name.empty()) lines.append(" [").append(name).append("]");
    lines += '\n';
  }
  const sdk::FileSizeSignalBlocked blocked;
  const int map = open_map();
  if (map < 0) return;
  // Appended in one piece, so that lines of several threads do not mix. A full disk only causes missing names
  // in a report.
  [[maybe_unused]] const ssize_t ignored = write(map, lines.data(), lines.size());
  close(map);
} catch (...) {
}

}  // namespace weir::cpu
