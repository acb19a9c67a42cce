// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors/stream_errors.hpp"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "process_tables.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

struct Sites {
  std::uint32_t count = 0;
  std::shared_ptr<const FailureSource> source;
};

struct SiteTable {
  std::uint32_t next = 1;
  std::map<std::uint32_t, Sites> by_first;
  std::deque<std::uint32_t> forgotten;  // oldest first
};

SiteTable& site_table() {
  static auto* table = new SiteTable;  // outlives every stream
  return *table;
}

constexpr std::size_t forgotten_kept = 256;

/// The source that describes `site`, or null, and the first of its sites.
std::pair<std::shared_ptr<const FailureSource>, std::uint32_t> source_of(std::uint32_t site) {
  SiteTable& table = site_table();
  const std::lock_guard lock(mutex_of(ProcessTable::failure_sites));
  auto found = table.by_first.upper_bound(site);
  if (found == table.by_first.begin()) return {};
  --found;
  if (site - found->first >= found->second.count) return {};
  return {found->second.source, found->first};
}

Error describe(const StreamState& stream, const ir::ErrorRecord& record) {
  const auto [source, first] = source_of(record.site);
  if (source) return source->describe(record.site - first, record);
  const KernelOrigin* kernel = stream.launched_last();
  return Error(
      ErrorCode::assertion,
      fmt::format(
          "a kernel on {} failed at site {}, index ({}, {}, {}, {}), which belongs to no kernel that is "
          "still known; keep kernels alive until the stream is synchronized",
          stream.device.device_name(), record.site, record.index[0], record.index[1], record.index[2],
          record.index[3]),
      kernel ? kernel->name : std::string(), std::string(), 0);
}

// Only for records that the host cannot read in place.
ir::ErrorRecord copy_record(StreamState& stream, const StreamRecord& record) {
  DeviceState& device = stream.device;
  ir::ErrorRecord copy{};
  {
    const Submission submission(stream);
    device.call("read a stream's error record", [&](weir_status* status) {
      return device.table().copy_to_host(stream.stream, &copy, record.memory.allocation, 0, sizeof copy,
                                         status);
    });
  }
  wait_for_report(stream, record.memory);
  return copy;
}

void clear_record(StreamState& stream, const StreamRecord& record) {
  clear_report_memory(stream, record.memory, sizeof(ir::ErrorRecord));
}

StreamRecords& records_of(StreamState& stream) {
  if (StreamRecords* records = stream.records.load(std::memory_order_acquire)) return *records;
  DeviceState& device = stream.device;
  auto records = std::make_unique<StreamRecords>();
  const ReportMemory memory = allocate_report_memory(device, "error record", 2 * sizeof(ir::ErrorRecord));
  records->each[0].memory = records->each[1].memory = memory;
  records->each[1].offset = sizeof(ir::ErrorRecord);
  try {
    if (memory.host)
      *records->each[0].host() = *records->each[1].host() = {};
    else
      clear_record(stream, records->each[0]);
  } catch (...) {
    free_report_memory(device, memory);
    throw;
  }
  StreamRecords* expected = nullptr;
  if (stream.records.compare_exchange_strong(expected, records.get(), std::memory_order_acq_rel))
    return *records.release();
  if (!memory.host) device.streams.synchronize(stream);  // the fill above still uses it
  free_report_memory(device, memory);
  return *expected;
}

std::mutex& report_mutex() {
  static constinit std::mutex mutex;  // needs no memory: callers must not throw
  return mutex;
}

/// True if the record holds a failure that was reported. Launches write into a record only after it was
/// freed, so its contents until then come from the reported launch. The check is needed because an H200
/// writes a report in host memory once more when a kernel ends under Vulkan or under compute-sanitizer.
bool is_reported(const StreamRecord& record) {
  return record.reported_at.load() != 0 && !record.freed_early.load();
}

/// Frees the record although the reported launch may still run, and fail again.
void free_early(StreamRecord& record) {
  record.freed_early = true;
  record.state().store(ir::ErrorRecord::free);
}

/// True if launches may use the record: it holds no report of a launch that may still run.
bool make_free(const StreamState& stream, StreamRecord& record) {
  if (!is_reported(record)) return true;
  if (stream.completed.load(std::memory_order_acquire) < record.reported_at.load()) return false;
  record.reported_at = 0;
  record.state().store(ir::ErrorRecord::free);
  return true;
}

/// Marks a complete record as reported; report_mutex() must be held.
void report(const StreamState& stream, StreamRecords& records, StreamRecord& record) {
  record.freed_early = false;
  record.reported_at = stream.submitted.load(std::memory_order_acquire);
  record.state().store(ir::ErrorRecord::reported);
  // A launch that has chosen the record and is not submitted yet must be able to report its failure. A
  // second report of the first launch is then possible.
  if (records.users.load() != 0) free_early(record);
}

/// A record in place of the current one, whose failure was reported.
StreamRecord& replace_reported(StreamState& stream, StreamRecords& records) {
  const std::lock_guard lock(report_mutex());
  StreamRecord& record = records.now();
  if (make_free(stream, record)) return record;
  const std::uint32_t next = 1 - records.current.load();
  if (!make_free(stream, records.each[next])) {
    // Two launches failed and may still run. Reporting a failure twice is better than losing one.
    free_early(record);
    return record;
  }
  records.current = next;
  return records.each[next];
}

}  // namespace

std::uint32_t register_failure_sites(std::uint32_t count, std::shared_ptr<const FailureSource> source) {
  SiteTable& table = site_table();
  const std::lock_guard lock(mutex_of(ProcessTable::failure_sites));
  const std::uint32_t first = table.next;
  if (count > ~first)
    throw Error(ErrorCode::system,
                "too many kernels with asserts, bounds checks or prints were loaded in this process; build "
                "each kernel once and keep it");
  table.by_first.emplace(first, Sites{count, std::move(source)});
  table.next = first + count;
  return first;
}

void forget_failure_sites(std::uint32_t first) noexcept {
  SiteTable& table = site_table();
  const std::lock_guard lock(mutex_of(ProcessTable::failure_sites));
  try {
    table.forgotten.push_back(first);
  } catch (...) {
    return;
  }
  if (table.forgotten.size() <= forgotten_kept) return;
  table.by_first.erase(table.forgotten.front());
  table.forgotten.pop_front();
}

std::shared_ptr<const PrintSite> find_print(std::uint32_t site) {
  const auto [source, first] = source_of(site);
  return source ? source->print(site - first) : nullptr;
}

StreamRecord& failure_record(StreamState& stream) {
  StreamRecords& records = records_of(stream);
  StreamRecord& record = records.now();
  if (!record.host() || record.state().load() == ir::ErrorRecord::free) [[likely]]
    return record;
  return replace_reported(stream, records);
}

FailureRecordUse::FailureRecordUse(StreamState& stream, bool needed) {
  if (!needed) return;
  users_ = &records_of(stream).users;
  // Before the choice, so that either a report reads this use, or the choice reads the report.
  users_->fetch_add(1);
  record_ = &failure_record(stream);
}

void throw_recorded_failure(StreamState& stream, StreamRecords& records) {
  // The step would end halfway. The next call after it throws.
  if (in_sequence(stream)) return;
  ir::ErrorRecord copy;
  {
    // If several threads find one failure, one of them reports it.
    const std::lock_guard lock(report_mutex());
    StreamRecord& record = records.now();
    if (record.state().load() != ir::ErrorRecord::complete) return;
    if (is_reported(record)) {
      record.state().store(ir::ErrorRecord::reported);
      return;
    }
    copy = *record.host();
    report(stream, records, record);
  }
  throw describe(stream, copy);
}

void throw_failure_after_wait(StreamState& stream) {
  StreamRecords* records = stream.records.load(std::memory_order_acquire);
  if (!records) return;
  StreamRecord& record = records->now();
  if (record.host()) return throw_failure(stream);
  const ir::ErrorRecord copy = copy_record(stream, record);
  if (copy.state != ir::ErrorRecord::complete) return;
  {
    const Submission submission(stream);
    clear_record(stream, record);
  }
  throw describe(stream, copy);
}

namespace {

bool is_same_failure(const ir::ErrorRecord& a, const ir::ErrorRecord& b) noexcept {
  constexpr std::size_t content = offsetof(ir::ErrorRecord, site);  // after the state
  return a.state == ir::ErrorRecord::complete && b.state == ir::ErrorRecord::complete &&
         std::memcmp(reinterpret_cast<const std::byte*>(&a) + content,
                     reinterpret_cast<const std::byte*>(&b) + content, sizeof a - content) == 0;
}

/// True until the state serves another stream: `generation` of its stream, or the next one, of none.
bool is_of(const StreamState& stream, std::uint64_t generation) noexcept {
  return stream.generation.load(std::memory_order_acquire) - generation <= 1;
}

// A record that holds the failure is examined before the generation. The next stream's launches fail after
// its generation was set, so their failures are not mistaken for this one.
void mark_reported(StreamState& stream, std::uint64_t generation, StreamRecord& record,
                   const ir::ErrorRecord& copy) {
  if (record.host()) {
    StreamRecords& records = *stream.records.load(std::memory_order_acquire);
    const std::lock_guard lock(report_mutex());
    if (record.state().load() != ir::ErrorRecord::complete || !is_same_failure(*record.host(), copy)) return;
    if (is_of(stream, generation)) report(stream, records, record);
  } else if (is_of(stream, generation) && is_same_failure(copy_record(stream, record), copy)) {
    const Submission submission(stream);
    if (is_of(stream, generation)) clear_record(stream, record);
  }
}

}  // namespace

void throw_copied_failure(StreamState& stream, std::uint64_t generation, StreamRecord& record,
                          const ir::ErrorRecord& copy) {
  try {
    mark_reported(stream, generation, record, copy);
  } catch (const Error&) {  // the driver's stream was destroyed, or its device fails the next call as well
  }
  throw describe(stream, copy);
}

bool work_is_over(weir_result result) noexcept {
  return result == WEIR_OK || result == WEIR_ERROR_LAUNCH || result == WEIR_ERROR_ILLEGAL_ADDRESS ||
         result == WEIR_ERROR_DEVICE_LOST;
}

void forget_failure(StreamState& stream) noexcept {
  StreamRecords* records = stream.records.load(std::memory_order_acquire);
  if (!records) return;
  if (records->now().host()) {
    const std::lock_guard lock(report_mutex());  // a future may be reporting the failure
    for (StreamRecord& record : records->each) {
      record.reported_at = 0;
      record.state().store(ir::ErrorRecord::free);
    }
    return;
  }
  try {
    clear_record(stream, records->now());
  } catch (...) {  // a failing device fails the next call as well
  }
}

}  // namespace weir::detail
