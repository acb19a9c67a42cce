// SPDX-License-Identifier: Apache-2.0
// Owners of the table's objects, for tests. Destruction must succeed; otherwise the test fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "driver/call.hpp"

namespace weir::conformance {

/// Registers a live stream for let_work_end().
void remember_stream(weir_stream stream);
void forget_stream(weir_stream stream) noexcept;

template <class Handle, weir_result (*weir_driver_table::*give_back)(Handle, weir_status*)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() { destroy(); }

  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }
  Handle release() {
    if constexpr (std::is_same_v<Handle, weir_stream>) forget_stream(handle_);
    return std::exchange(handle_, nullptr);
  }

  void destroy() {
    if (!handle_) return;
    weir_status status = new_status();
    const weir_result result = (table().*give_back)(release(), &status);
    EXPECT_EQ(result, WEIR_OK) << last_slot() << " returned " << result_name(result) << ": "
                               << status.message;
  }

 private:
  Handle handle_ = nullptr;
};

class Stream : public Owner<weir_stream, &weir_driver_table::stream_destroy> {
 public:
  explicit Stream(weir_device on = device(), std::int32_t priority = 0) {
    const weir_stream_options options{sizeof options, priority};
    call(table().stream_create, on, &options, out());
    remember_stream(*this);
  }
  void flush() const { call(table().stream_flush, weir_stream(*this)); }
  void synchronize() const { call(table().stream_synchronize, weir_stream(*this)); }
  /// True if all work is done; a failure of the stream fails the test.
  bool done() const;
  void wait(weir_event event) const { call(table().stream_wait_event, weir_stream(*this), event); }
};

class Event : public Owner<weir_event, &weir_driver_table::event_destroy> {
 public:
  explicit Event(std::uint32_t flags = WEIR_EVENT_PLAIN, weir_device on = device()) {
    call(table().event_create, on, flags, out());
  }
  void record(weir_stream stream) const { call(table().event_record, weir_event(*this), stream); }
  void synchronize() const { call(table().event_synchronize, weir_event(*this)); }
  bool done() const;
};

using Bytes = std::vector<std::uint8_t>;

/// Compares two ranges. A failure states the first difference and the number of bytes that differ.
testing::AssertionResult same_bytes(std::span<const std::uint8_t> found,
                                    std::span<const std::uint8_t> expected);

/// `size` pseudo-random bytes, different for each seed.
Bytes pattern(std::size_t size, std::uint32_t seed = 1);

class Memory : public Owner<weir_allocation, &weir_driver_table::memory_free> {
 public:
  explicit Memory(std::uint64_t size, std::uint32_t kind = WEIR_MEMORY_DEVICE, weir_device on = device());
  explicit Memory(weir_allocation taken) : Owner(taken), size_(0) {}

  std::uint64_t size() const { return size_; }
  weir_memory_info info() const;

  /// Both use a stream of their own and wait for it.
  void write(std::span<const std::uint8_t> bytes, std::uint64_t offset = 0) const;
  Bytes read(std::uint64_t offset, std::uint64_t size) const;
  Bytes read() const { return read(0, size_); }

  template <class T>
  static Memory of(const std::vector<T>& values) {
    Memory memory(values.size() * sizeof(T));
    memory.write({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)});
    return memory;
  }
  template <class T>
  std::vector<T> values() const {
    const Bytes bytes = read();
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }

 private:
  std::uint64_t size_;
};

/// Host memory for copies of a blocked stream: pinned if the device has pinned memory, so that no copy needs
/// to wait for the stream.
class HostMemory {
 public:
  explicit HostMemory(std::uint64_t size);
  explicit HostMemory(const Bytes& bytes) : HostMemory(bytes.size()) { std::ranges::copy(bytes, data()); }
  HostMemory(HostMemory&&) = default;
  std::uint8_t* data() const { return data_; }
  Bytes bytes() const { return Bytes(data_, data_ + size_); }

 private:
  std::uint64_t size_;
  std::vector<Memory> pinned_;
  std::vector<std::uint8_t> plain_;
  std::uint8_t* data_ = nullptr;
};

/// fill() with a pattern of T's size.
template <class T>
void fill(weir_stream stream, weir_allocation memory, std::uint64_t offset, std::uint64_t size, T value) {
  call(table().fill, stream, memory, offset, size, static_cast<const void*>(&value),
       static_cast<std::uint32_t>(sizeof value));
}

/// A struct for a function to fill up to `size` bytes, each of whose other bytes shows whether it was written.
template <class T>
T guarded(std::uint32_t size) {
  T filled;
  std::memset(&filled, 0x5a, sizeof filled);
  filled.struct_size = size;
  return filled;
}
/// Fails if a byte past the first `size` was written.
template <class T>
void expect_guarded(const T& filled, std::uint32_t size) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&filled);
  for (std::size_t i = size; i < sizeof filled; ++i)
    ASSERT_EQ(bytes[i], 0x5a) << last_slot() << " wrote byte " << i << "; struct_size was " << size;
}

/// memory_options for `size` bytes.
inline weir_memory_options memory_options(std::uint64_t size, std::uint32_t kind = WEIR_MEMORY_DEVICE,
                                          std::uint64_t alignment = 0) {
  return {sizeof(weir_memory_options), kind, size, alignment};
}

/// Describes `size` bytes of host memory, or of a device whose addresses are the host's.
inline weir_external_memory external_memory(std::uint32_t kind, const void* begin, std::uint64_t size) {
  return {sizeof(weir_external_memory), kind, reinterpret_cast<std::uint64_t>(begin), size};
}

/// `size` bytes of `owner` from byte `offset` on, as external memory.
inline Memory wrapped(const Memory& owner, std::uint64_t offset, std::uint64_t size,
                      weir_device on = device()) {
  const auto* const begin = reinterpret_cast<const void*>(owner.info().device_address + offset);
  const weir_external_memory memory = external_memory(WEIR_EXTERNAL_DEVICE, begin, size);
  Memory made(weir_allocation{});
  call(table().memory_wrap, on, &memory, made.out());
  return made;
}

}  // namespace weir::conformance
