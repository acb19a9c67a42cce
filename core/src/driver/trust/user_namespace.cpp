// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/user_namespace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "descriptor.hpp"

namespace weir {
namespace {

constexpr uid_t usual_overflow_user = 65534;

// Reads the first bytes of a file in /proc into `text`. Returns false when the file cannot be read.
template <std::size_t N>
bool read_start(const char* path, char (&text)[N]) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.get() < 0 ? -1 : ::read(file.get(), text, N - 1);
  if (size < 0) return false;
  text[size] = '\0';
  return true;
}

}  // namespace

std::optional<uid_t> unmapped_user() {
  char text[128];
  if (!read_start("/proc/self/uid_map", text)) return std::nullopt;
  std::uint32_t first = 1, outside = 1, count = 0;
  const bool one_range = std::sscanf(text, "%u %u %u", &first, &outside, &count) == 3;
  if (one_range && first == 0 && count == UINT32_MAX) return std::nullopt;
  uid_t overflow = usual_overflow_user;
  if (read_start("/proc/sys/kernel/overflowuid", text)) std::sscanf(text, "%u", &overflow);
  return overflow;
}

}  // namespace weir
