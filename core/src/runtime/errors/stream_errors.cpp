// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors/stream_errors.hpp"

#include <fmt/format.h>

#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/devices/device_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

struct Sites {
  std::uint32_t count = 0;
  std::shared_ptr<const FailureSource> source;
};

struct SiteTable {
  std::mutex mutex;  // taken when kernels are loaded and when one fails
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
  std::lock_guard lock(table.mutex);
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
          "still known",
          stream.device.device_name(), record.site, record.index[0], record.index[1], record.index[2],
          record.index[3]),
      kernel ? kernel->name : std::string(), std::string(), 0);
}

// Only for records that the host cannot read in place.
void copy_record(StreamState& stream, StreamRecord& record, ir::ErrorRecord* to) {
  DeviceState& device = stream.device;
  {
    const Submission submission(stream);
    device.call("read a stream's error record", [&](weir_status* status) {
      return device.table().copy_to_host(stream.stream, to, record.allocation, 0, sizeof *to, status);
    });
  }
  device.streams.wait_before_throwing(stream, [&] {
    device.call("read a stream's error record", [&](weir_status* status) {
      const weir_result flushed = device.table().stream_flush(stream.stream, status);
      return flushed != WEIR_OK ? flushed : device.table().stream_synchronize(stream.stream, status);
    });
  });
}

void clear_record(StreamState& stream, StreamRecord& record) {
  DeviceState& device = stream.device;
  const std::uint32_t zero = 0;
  device.call("clear a stream's error record", [&](weir_status* status) {
    return device.table().fill(stream.stream, record.allocation, 0, sizeof(ir::ErrorRecord), &zero,
                               sizeof zero, status);
  });
  stream.note_submission();
}

}  // namespace

std::uint32_t register_failure_sites(std::uint32_t count, std::shared_ptr<const FailureSource> source) {
  SiteTable& table = site_table();
  std::lock_guard lock(table.mutex);
  const std::uint32_t first = table.next;
  if (count > ~first)
    throw Error(ErrorCode::system,
                "too many kernels with asserts, bounds checks or prints were loaded in this process");
  table.by_first.emplace(first, Sites{count, std::move(source)});
  table.next = first + count;
  return first;
}

void forget_failure_sites(std::uint32_t first) noexcept {
  SiteTable& table = site_table();
  std::lock_guard lock(table.mutex);
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
  if (StreamRecord* record = stream.record.load(std::memory_order_acquire)) return *record;
  DeviceState& device = stream.device;
  const weir_driver_table& table = device.table();
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = device.has(Capability::pinned_memory) ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE;
  options.size = sizeof(ir::ErrorRecord);
  auto record = std::make_unique<StreamRecord>();
  const weir_device handle = device.handle();
  device.call("allocate a stream's error record", [&](weir_status* status) {
    return table.memory_allocate(handle, &options, &record->allocation, status);
  });
  const auto give_up = [&]() noexcept {
    device.call_no_throw([&](weir_status* status) { return table.memory_free(record->allocation, status); });
  };
  try {
    weir_memory_info info{};
    info.struct_size = sizeof info;
    device.call("query the location of memory", [&](weir_status* status) {
      return table.memory_get_info(record->allocation, &info, status);
    });
    record->address = info.device_address;
    record->host = static_cast<ir::ErrorRecord*>(info.host_pointer);
    if (record->host)
      *record->host = {};
    else
      clear_record(stream, *record);
  } catch (...) {
    give_up();
    throw;
  }
  StreamRecord* expected = nullptr;
  if (stream.record.compare_exchange_strong(expected, record.get(), std::memory_order_acq_rel))
    return *record.release();
  if (!record->host) device.streams.synchronize(stream);  // the fill above still uses it
  give_up();
  return *expected;
}

void throw_recorded_failure(StreamState& stream, StreamRecord& record) {
  ir::ErrorRecord copy;
  {
    // If several threads find one failure, one of them reports it. Once the record is cleared, a kernel may
    // write the next failure.
    static std::mutex& mutex = *new std::mutex;
    std::lock_guard lock(mutex);
    const std::atomic_ref<std::uint32_t> state(record.host->state);
    if (state.load(std::memory_order_acquire) != ir::ErrorRecord::complete) return;
    copy = *record.host;
    state.store(ir::ErrorRecord::free, std::memory_order_release);
  }
  throw describe(stream, copy);
}

void throw_failure_after_wait(StreamState& stream) {
  StreamRecord* record = stream.record.load(std::memory_order_acquire);
  if (!record) return;
  if (record->host) return throw_failure(stream);
  ir::ErrorRecord copy{};
  copy_record(stream, *record, &copy);
  if (copy.state != ir::ErrorRecord::complete) return;
  {
    const Submission submission(stream);
    clear_record(stream, *record);
  }
  throw describe(stream, copy);
}

bool work_is_over(weir_result result) noexcept {
  return result == WEIR_OK || result == WEIR_ERROR_LAUNCH || result == WEIR_ERROR_ILLEGAL_ADDRESS ||
         result == WEIR_ERROR_DEVICE_LOST;
}

void forget_failure(StreamState& stream) noexcept {
  StreamRecord* record = stream.record.load(std::memory_order_acquire);
  if (!record) return;
  if (record->host) {
    std::atomic_ref<std::uint32_t>(record->host->state)
        .store(ir::ErrorRecord::free, std::memory_order_release);
    return;
  }
  try {
    clear_record(stream, *record);
  } catch (...) {  // a failing device fails the next call as well
  }
}

}  // namespace weir::detail
