// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated and freed in the order of a stream.
#pragma once

#include <chrono>
#include <string>
#include <thread>
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

/// `wanted` bytes of memory in pieces of at most `largest`, which the device may have to make smaller.
struct Pieces {
  explicit Pieces(std::uint64_t wanted, std::uint64_t largest)
      : size(largest_piece(largest)), count(wanted / size) {}
  explicit Pieces(std::uint64_t wanted) : Pieces(wanted, wanted) {}
  std::uint64_t size, count;
};

/// Pools often keep small and large allocations apart.
inline constexpr std::uint64_t pooled_sizes[] = {64, 4096, 65536, 1u << 20};

inline void copy_out(const Stream& stream, const HostMemory& to, weir_allocation from, std::uint64_t size) {
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(to.data()), from, std::uint64_t{0},
       size);
}

/// Memory of 21s that work of a held stream reads before memory_free_async frees it. Other memory is filled
/// with 99s meanwhile: if it is the same memory, what the work reads changes.
class FreedMemory {
 public:
  /// Memory of `allocated_in`, or of memory_allocate if that is null.
  FreedMemory(std::uint64_t size, const Stream* allocated_in) : size_(size), host_(size) {
    const Stream& stream = allocated_in ? *allocated_in : other;
    memory_ = allocated_in ? allocate(stream, size) : Memory(size).release();
    fill<std::uint8_t>(stream, memory_, 0, size, 21);
    stream.synchronize();
  }
  weir_allocation memory() const { return memory_; }
  const HostMemory& host() const { return host_; }

  void read_on(const Stream& held) const { copy_out(held, host_, memory_, size_); }
  void fill_other(weir_allocation memory) const { fill<std::uint8_t>(other, memory, 0, size_, 99); }
  void end_filling() const {
    if (has(WEIR_CAP_CONCURRENT_STREAMS)) other.synchronize();
  }
  /// Allocates and fills other memory. Call it after the deallocation was submitted and before the stream
  /// goes on.
  void allocate_others() {
    for (int i = 0; i < 16; ++i) {
      taken_.push_back(i % 2 ? Memory(size_) : Memory(allocate(other, size_)));
      fill_other(taken_.back());
    }
    end_filling();
  }
  /// After the stream has gone on.
  void expect_unchanged(const std::string& what,
                        const char* look = "which work memory_free_async waits for") const {
    other.synchronize();
    EXPECT_TRUE(same_bytes(host_.bytes(), Bytes(size_, 21)))
        << what
        << " Other memory was filled with 99 while that stream was held. driver.h: the deallocation is "
           "ordered in the stream that memory_free_async names, alone. Look first at "
        << look;
  }

  const Stream other;

 private:
  const std::uint64_t size_;
  const HostMemory host_;
  weir_allocation memory_ = nullptr;
  std::vector<Memory> taken_;
};

/// A held stream that copies memory of 21s to the host and then frees it.
class FreedBehindARead {
 public:
  explicit FreedBehindARead(std::uint64_t size) : memory_(size, &held), size_(size) {
    gate_.hold(held);
    memory_.read_on(held);
    free_on(held, memory_.memory());
  }

  void fill_other(weir_allocation memory) const { memory_.fill_other(memory); }
  void end_filling() const { memory_.end_filling(); }
  /// Lets the stream go on, and expects that it read 21s.
  void expect_read(const char* then = "", const char* look = "which work memory_free_async waits for") {
    gate_.open();
    held.synchronize();
    memory_.expect_unchanged("A held stream read " + std::to_string(size_) +
                                 " bytes of memory, and memory_free_async freed them there." + then,
                             look);
  }

  const Stream held;

 private:
  FreedMemory memory_;
  std::uint64_t size_;
  Gate gate_;

 public:
  const Stream& other = memory_.other;
};

/// Polls until `condition` holds, for less time than gates stay closed.
template <class Condition>
bool holds_within(std::chrono::milliseconds limit, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace weir::conformance
