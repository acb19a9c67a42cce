// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated and freed in the order of a stream.
#pragma once

#include <vector>

#include "kernels/gate.hpp"

namespace weir::conformance {

inline weir_allocation allocate(const Stream& stream, std::uint64_t size) {
  const weir_memory_options options = memory_options(size);
  weir_allocation out = nullptr;
  call(table().memory_allocate_async, weir_stream(stream), &options, &out);
  return out;
}
inline void free_on(const Stream& stream, weir_allocation memory) {
  call(table().memory_free_async, weir_stream(stream), memory);
}
/// `wanted` bytes, halved until the device allocates as much at once: devices may limit one allocation to
/// less than their memory. 1 MiB at least.
inline std::uint64_t largest_piece(std::uint64_t wanted) {
  for (std::uint64_t piece = wanted;; piece /= 2) {
    const weir_memory_options options = memory_options(piece);
    weir_allocation memory = nullptr;
    weir_status status = new_status();
    const bool allocated = table().memory_allocate(device(), &options, &memory, &status) == WEIR_OK;
    if (allocated) call(table().memory_free, memory);
    if (allocated || piece <= std::uint64_t{2} << 20) return piece;
  }
}

/// Pools often keep small and large allocations apart.
inline constexpr std::uint64_t pooled_sizes[] = {64, 4096, 65536, 1u << 20};

inline void copy_out(const Stream& stream, const HostMemory& to, weir_allocation from, std::uint64_t size) {
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(to.data()), from, std::uint64_t{0},
       size);
}

/// A held stream copies memory of 21s to the host and then frees it by memory_free_async.
class FreedBehindARead {
 public:
  explicit FreedBehindARead(std::uint64_t size) : size_(size), host_(size) {
    const weir_allocation memory = allocate(held, size);
    fill<std::uint8_t>(held, memory, 0, size, 21);
    held.synchronize();
    gate_.hold(held);
    copy_out(held, host_, memory, size);
    free_on(held, memory);
  }

  /// Fills memory of `size` bytes with 99s on another stream. A block that received the freed memory too
  /// early changes what the held stream reads.
  void fill_other(weir_allocation memory) const { fill<std::uint8_t>(other, memory, 0, size_, 99); }
  void end_filling() const {
    if (has(WEIR_CAP_CONCURRENT_STREAMS)) other.synchronize();
  }

  /// Lets the stream go on, and expects that it read 21s.
  void expect_read(const char* look) {
    gate_.open();
    held.synchronize();
    EXPECT_TRUE(same_bytes(host_.bytes(), Bytes(size_, 21)))
        << "a held stream reads " << size_ << " bytes, and a later memory_free_async frees them" << look;
    other.synchronize();
  }

  const Stream held, other;

 private:
  std::uint64_t size_;
  HostMemory host_;
  Gate gate_;
};

}  // namespace weir::conformance
