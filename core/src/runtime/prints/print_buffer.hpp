// SPDX-License-Identifier: Apache-2.0
// Lines that kernels print. Generated code writes them to the buffer of the launch's stream
// (ir/print_buffer.hpp). The host reads it after a wait for the stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "ir/print_buffer.hpp"
#include "runtime/memory/report_memory.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Created by the stream's first launch that prints; lives as long as the stream's state.
struct PrintBuffer {
  ReportMemory memory;
  std::uint64_t bytes = 0;
  std::atomic<std::uint32_t> launches{0};
  std::mutex showing;  ///< held while lines are read and passed on, which keeps their order
  /// Set before the contents are cleared, until their lines were passed on.
  std::atomic<bool> has_taken{false};
  std::vector<std::byte> taken;  ///< contents whose lines were not passed on, because memory ran out

  /// Null if the host cannot read it in place.
  ir::PrintHeader* header() const noexcept { return static_cast<ir::PrintHeader*>(memory.host); }

  /// Whether the launches so far wrote nothing since the last clearing. False if the host cannot read it.
  bool is_empty() const noexcept {
    ir::PrintHeader* const contents = header();
    return contents && std::atomic_ref(contents->claimed).load(std::memory_order_acquire) == 0 &&
           std::atomic_ref(contents->lost).load(std::memory_order_acquire) == 0;
  }
};

/// The stream's buffer, created on first use. Must not be called with the submission lock held, because
/// creation may block. Throws Error{invalid} if WEIR_PRINT_BYTES is not a size.
PrintBuffer& print_buffer(StreamState& stream);

/// Passes on the lines of the stream's finished work; the caller has waited for it. Takes the submission
/// lock. Lines are lost when the device fails and the host cannot read the buffer in place. Returns false if
/// memory ran out: the next call passes the lines on.
bool show_printed_lines(StreamState& stream, PrintBuffer& buffer) noexcept;
inline bool show_printed_lines(StreamState& stream) noexcept {
  PrintBuffer* buffer = stream.prints.load(std::memory_order_acquire);
  // In this order: a thread that cleared the contents before had set `has_taken`.
  if (!buffer || (buffer->is_empty() && !buffer->has_taken.load(std::memory_order_acquire))) [[likely]]
    return true;
  return show_printed_lines(stream, *buffer);
}

}  // namespace weir::detail
