// SPDX-License-Identifier: Apache-2.0
// Host memory whose next byte is not readable.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

namespace weir::conformance {

/// Whole pages of host memory, at least `size` bytes, in front of one that is not accessible. A driver that
/// touches a byte past the end is stopped by a signal.
class EndOfMemory {
 public:
  explicit EndOfMemory(std::size_t size) : space_((size + page() - 1) / page() * page()) {
    void* const mapped =
        mmap(nullptr, space_ + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("cannot map memory");
    memory_ = static_cast<std::uint8_t*>(mapped);
    mprotect(memory_ + space_, page(), PROT_NONE);
  }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  ~EndOfMemory() { munmap(memory_, space_ + page()); }

  /// The last `size` bytes.
  std::uint8_t* last(std::size_t size) const { return memory_ + space_ - size; }
  /// The same, with this content.
  std::uint8_t* last(std::span<const std::uint8_t> bytes) const {
    return static_cast<std::uint8_t*>(std::memcpy(last(bytes.size()), bytes.data(), bytes.size()));
  }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::size_t space_;
  std::uint8_t* memory_;
};

}  // namespace weir::conformance
