// SPDX-License-Identifier: Apache-2.0
// Reporting of failures inside kernels. Generated code writes the first failure of a stream's launches into
// the stream's error record (ir/error_record.hpp), which the host can read. Each call on the stream checks
// the record with one load and throws a recorded failure. The launch that failed may still run, and its other
// iterations fail too. Its record therefore stays taken until the work submitted before the report has
// completed. Until then, launches use the stream's second record.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <weir/error.hpp>

#include "ir/error_record.hpp"
#include "runtime/memory/report_memory.hpp"
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

/// Reserves `count` site numbers and returns the first. The source outlives forget_failure_sites for some
/// time, so that a failure can be reported after its kernel was destroyed.
std::uint32_t register_failure_sites(std::uint32_t count, std::shared_ptr<const FailureSource> source);
void forget_failure_sites(std::uint32_t first) noexcept;
/// The print of that site; null if it belongs to no kernel that is still known.
std::shared_ptr<const PrintSite> find_print(std::uint32_t site);

/// An error record, with the memory that it is in.
struct StreamRecord {
  ReportMemory memory;                        ///< of both records
  std::uint64_t offset = 0;                   ///< in the memory
  std::atomic<std::uint64_t> reported_at{0};  ///< submissions to the stream at the report, until it is freed
  std::atomic<bool> freed_early{false};       ///< after that report, for launches that had chosen the record

  /// Null if the host cannot read it in place; each wait then copies it.
  ir::ErrorRecord* host() const noexcept {
    return memory.host ? static_cast<ir::ErrorRecord*>(memory.host) + offset / sizeof(ir::ErrorRecord)
                       : nullptr;
  }
  std::atomic_ref<std::uint32_t> state() const noexcept { return std::atomic_ref(host()->state); }
};

/// The error records of a stream; created by the first launch that needs one. The second serves only if the
/// host can read records in place.
struct StreamRecords {
  StreamRecord each[2];
  std::atomic<std::uint32_t> current{0};
  std::atomic<std::uint32_t> users{0};  ///< launches between the choice of a record and their submission

  StreamRecord& now() noexcept { return each[current.load()]; }
};

/// The error record for the next launch on the stream. Must not be called with the submission lock held,
/// because the first call may block.
StreamRecord& failure_record(StreamState& stream);

/// Chooses an error record for a launch. Until it is destroyed, after the submission, a report leaves the
/// record usable.
class FailureRecordUse {
 public:
  FailureRecordUse(StreamState& stream, bool needed);
  ~FailureRecordUse() {
    if (users_) users_->fetch_sub(1);
  }
  FailureRecordUse(const FailureRecordUse&) = delete;
  FailureRecordUse& operator=(const FailureRecordUse&) = delete;
  /// Null if none is needed.
  const StreamRecord* record() const noexcept { return record_; }

 private:
  std::atomic<std::uint32_t>* users_ = nullptr;
  const StreamRecord* record_ = nullptr;
};

/// Throws the recorded failure unless another thread has already claimed it.
void throw_recorded_failure(StreamState& stream, StreamRecords& records);

/// Throws the failure recorded for the stream, if any. Inside a SubmissionSequence of this thread, nothing:
/// what opens one calls this before.
inline void throw_failure(StreamState& stream) {
  StreamRecords* records = stream.records.load(std::memory_order_acquire);
  if (!records) [[likely]]
    return;
  const StreamRecord& record = records->now();
  if (record.host() && record.state().load(std::memory_order_acquire) == ir::ErrorRecord::complete)
      [[unlikely]]
    throw_recorded_failure(stream, *records);
}

/// As throw_failure, after the host has waited for the stream. Fetches an error record that the host cannot
/// read in place.
void throw_failure_after_wait(StreamState& stream);

/// Throws a failure that the host has read from a copy of the record, and marks it as reported if nothing
/// else has reported it. `generation` is that of the stream when the launch was submitted. The stream may
/// have been destroyed since.
[[noreturn]] void throw_copied_failure(StreamState& stream, std::uint64_t generation, StreamRecord& record,
                                       const ir::ErrorRecord& copy);

/// True if a query or wait with that result means that the work has ended, with success or by its own
/// failure. Other failures do not show whether the work ended, so its memory must not be reused yet.
bool work_is_over(weir_result result) noexcept;

/// Clears the records of a stream that is no longer used.
void forget_failure(StreamState& stream) noexcept;

}  // namespace weir::detail
