// SPDX-License-Identifier: Apache-2.0
// Copies of pageable host memory. A vendor's copy of such memory blocks the host until all earlier work of
// the stream is complete, since the device alone can copy only pinned memory. In a busy stream, copies
// therefore use pinned buffers. The device copies between its memory and the buffer; host callbacks, in
// stream order, copy between the buffer and the user's memory. In an idle stream the vendor's copy is used,
// which is faster there.
//
// Requires of the vendor's traits V:
//   static bool is_pinned(const void* memory) noexcept;
//       whether the device can access the host memory directly
//   static constexpr std::size_t taken_at_once;
//       bytes of pageable memory that the vendor's call reads before it returns, even in a busy stream
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "calls.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Device;

template <class V>
class Staging {
 public:
  static constexpr std::size_t small_bytes = 64 * 1024;
  static constexpr std::size_t large_bytes = 2 * 1024 * 1024;
  /// Buffer memory in use at which copies block like the vendor's.
  static constexpr std::size_t max_bytes = 64 * 1024 * 1024;
  /// The name of max_bytes in version 0.1; removed in 0.3.
  [[deprecated("use max_bytes")]] static constexpr std::size_t most_bytes = max_bytes;

  /// True if a copy of this memory would make the host wait for the stream.
  static bool would_wait(const void* memory, void* stream) noexcept {
    return V::calls().stream_query(stream) == not_ready && !V::is_pinned(memory);
  }

  /// Submits a copy through a buffer; returns false, without effect, if no buffer is left. The device's
  /// context must be current.
  bool copy_to_host(Device<V>& device, void* stream, void* to, Address from, std::size_t size) {
    return in_steps(device, stream, size, [&](Buffer& buffer, std::size_t offset, std::size_t bytes) {
      device.check(V::calls().copy_to_host(buffer.memory, from + offset, bytes, stream), "copy to the host");
      submit(device, stream, buffer, static_cast<char*>(to) + offset, buffer.memory, bytes);
    });
  }
  bool copy_to_device(Device<V>& device, void* stream, Address to, const void* from, std::size_t size) {
    return in_steps(device, stream, size, [&](Buffer& buffer, std::size_t offset, std::size_t bytes) {
      submit(device, stream, buffer, buffer.memory, static_cast<const char*>(from) + offset, bytes);
      device.check(V::calls().copy_to_device(to + offset, buffer.memory, bytes, stream),
                   "copy to the device");
    });
  }

  /// Frees the buffers; the device must be idle or lost.
  void finish() noexcept {
    std::lock_guard lock(mutex_);
    for (Buffer*& first : free_)
      while (first) {
        const std::unique_ptr<Buffer> buffer(std::exchange(first, first->next));
        V::calls().host_free(buffer->memory);
        held_bytes_ -= buffer->bytes;
      }
  }

 private:
  struct Buffer {
    Staging* home;
    void* memory;
    std::size_t bytes;
    Buffer* next;
  };
  struct Step {
    Buffer* buffer;
    void* to;  // null: the buffer is free
    const void* from;
    std::size_t bytes;
  };

  static void run(void* user) {
    const std::unique_ptr<Step> step(static_cast<Step*>(user));
    if (step->to)
      std::memcpy(step->to, step->from, step->bytes);
    else
      step->buffer->home->give(*step->buffer);
  }

  void submit(Device<V>& device, void* stream, Buffer& buffer, void* to, const void* from,
              std::size_t bytes) {
    auto step = std::make_unique<Step>(Step{&buffer, to, from, bytes});
    device.check(V::calls().host_function(stream, &run, step.get()), "submit a host callback");
    step.release();  // `run` owns it now
  }

  /// The stream's order lets all steps of a copy share one buffer. After a failure between steps, the
  /// submitted steps are waited for, since the caller may free its memory once it has the error. If that wait
  /// fails too, the device may still write to the buffer, which is then not reused.
  template <class Do>
  bool in_steps(Device<V>& device, void* stream, std::size_t size, Do&& step) {
    Buffer* const buffer = take(size > small_bytes);
    if (!buffer) return false;
    try {
      for (std::size_t offset = 0; offset < size; offset += buffer->bytes)
        step(*buffer, offset, std::min(buffer->bytes, size - offset));
      submit(device, stream, *buffer, nullptr, nullptr, 0);
    } catch (...) {
      if (V::calls().stream_synchronize(stream) == success) give(*buffer);
      throw;
    }
    return true;
  }

  Buffer* take(bool large) {
    const std::size_t bytes = large ? large_bytes : small_bytes;
    auto buffer = std::make_unique<Buffer>(Buffer{this, nullptr, bytes, nullptr});
    {
      std::lock_guard lock(mutex_);
      if (Buffer* kept = free_[large]) {
        free_[large] = kept->next;
        return kept;
      }
      if (held_bytes_ + bytes > max_bytes) return nullptr;
      held_bytes_ += bytes;
    }
    if (V::calls().host_allocate(&buffer->memory, bytes, host_portable) == success) return buffer.release();
    std::lock_guard lock(mutex_);
    held_bytes_ -= bytes;
    return nullptr;
  }

  void give(Buffer& buffer) noexcept {
    std::lock_guard lock(mutex_);
    buffer.next = std::exchange(free_[buffer.bytes == large_bytes], &buffer);
  }

  std::mutex mutex_;
  Buffer* free_[2] = {nullptr, nullptr};
  std::size_t held_bytes_ = 0;
};

}  // namespace weir::sdk::vendor
