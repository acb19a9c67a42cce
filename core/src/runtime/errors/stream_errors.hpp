// SPDX-License-Identifier: Apache-2.0
// How failures inside kernels reach the host. Generated code writes the first failure of a stream's launches
// into the stream's record (ir/error_record.hpp), which the host can read; each call on the stream looks at
// it with one load, throws what it finds, and clears it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <weir/error.hpp>

#include "ir/error_record.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Knows the statements that can fail in a loaded kernel.
class FailureSource {
 public:
  virtual ~FailureSource() = default;
  /// The error for failure site `number`, counted from the base that register_failure_sites gave.
  virtual Error describe(std::uint32_t number, const ir::ErrorRecord& record) const = 0;
};

/// Reserves `count` site numbers and returns the first. The source is kept until forget_failure_sites, and a
/// while longer, so that a failure can surface after its kernel was destroyed.
std::uint32_t register_failure_sites(std::uint32_t count, std::shared_ptr<const FailureSource> source);
void forget_failure_sites(std::uint32_t first) noexcept;

/// The stream's record, made on first use; not in the stream's turn, because making it may block.
StreamRecord& failure_record(StreamState& stream);

/// Throws what stands in the record, unless another thread has taken it meanwhile.
void throw_recorded_failure(StreamState& stream, StreamRecord& record);

/// Throws what a kernel left in the stream's record, and clears it.
inline void throw_failure(StreamState& stream) {
  StreamRecord* record = stream.record.load(std::memory_order_acquire);
  if (!record || !record->host) [[likely]]
    return;
  const std::atomic_ref<std::uint32_t> state(record->host->state);
  if (state.load(std::memory_order_acquire) == ir::ErrorRecord::complete) [[unlikely]]
    throw_recorded_failure(stream, *record);
}

/// As above, after the host has waited for the stream: fetches a record that the host cannot read in place.
void throw_failure_after_wait(StreamState& stream);

/// Whether a query or wait with that result says that the work it asked about is over: done, or ended by a
/// failure of its own. Other failures say nothing of the work, whose memory must not be used again yet.
bool work_is_over(weir_result result) noexcept;

/// Clears the record of a stream that nobody will ask any more.
void forget_failure(StreamState& stream) noexcept;

}  // namespace weir::detail
