// SPDX-License-Identifier: Apache-2.0
// Reporting of failures inside kernels. Generated code writes the first failure of a stream's launches into
// the stream's record (ir/error_record.hpp), which the host can read. Each call on the stream checks the
// record with one load, throws a recorded failure, and clears the record.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <weir/error.hpp>

#include "ir/error_record.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

struct PrintSite;

/// Describes the statements of a loaded kernel that have sites: those that can fail, and prints.
class FailureSource {
 public:
  virtual ~FailureSource() = default;
  /// The error for failure site `number`, counted from the base that register_failure_sites gave.
  virtual Error describe(std::uint32_t number, const ir::ErrorRecord& record) const = 0;
  /// The print with that number, counted likewise; null if there is none.
  virtual std::shared_ptr<const PrintSite> print(std::uint32_t) const { return nullptr; }
};

/// Reserves `count` site numbers and returns the first. The source outlives forget_failure_sites for a while,
/// so that a failure can be reported after its kernel was destroyed.
std::uint32_t register_failure_sites(std::uint32_t count, std::shared_ptr<const FailureSource> source);
void forget_failure_sites(std::uint32_t first) noexcept;
/// The print of that site; null if it belongs to no kernel that is still known.
std::shared_ptr<const PrintSite> find_print(std::uint32_t site);

/// Record of a stream's failed assertions; created by the first launch that needs it.
struct StreamRecord {
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;
  ir::ErrorRecord* host = nullptr;  ///< null if the host cannot read it in place; each wait then copies it
};

/// The stream's record, created on first use. Must not be called with the submission lock held, because
/// creation may block.
StreamRecord& failure_record(StreamState& stream);

/// Throws the recorded failure unless another thread has already claimed it.
void throw_recorded_failure(StreamState& stream, StreamRecord& record);

/// Throws the failure recorded for the stream, if any, and clears the record.
inline void throw_failure(StreamState& stream) {
  StreamRecord* record = stream.record.load(std::memory_order_acquire);
  if (!record || !record->host) [[likely]]
    return;
  const std::atomic_ref<std::uint32_t> state(record->host->state);
  if (state.load(std::memory_order_acquire) == ir::ErrorRecord::complete) [[unlikely]]
    throw_recorded_failure(stream, *record);
}

/// As throw_failure, after the host has waited for the stream. Fetches a record that the host cannot read in
/// place.
void throw_failure_after_wait(StreamState& stream);

/// True if a query or wait with that result means that the work is over: done, or ended by a failure of its
/// own. Other failures do not show whether the work ended, so its memory must not be reused yet.
bool work_is_over(weir_result result) noexcept;

/// Clears the record of a stream that is no longer used.
void forget_failure(StreamState& stream) noexcept;

}  // namespace weir::detail
