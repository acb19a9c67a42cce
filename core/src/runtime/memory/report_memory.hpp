// SPDX-License-Identifier: Apache-2.0
// Memory in which the kernels of one stream report to the host: their first failure, and the lines that they
// print.
#pragma once

#include <weir/driver.h>

#include <cstdint>

#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Pinned memory where the device has it, otherwise memory of the device.
struct ReportMemory {
  const char* content = "";  ///< in messages, such as "error record"
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;
  void* host = nullptr;  ///< null if the host cannot access it in place
};

/// Throws the driver's error. The contents are undefined.
ReportMemory allocate_report_memory(DeviceState& device, const char* content, std::uint64_t bytes);
void free_report_memory(DeviceState& device, const ReportMemory& memory) noexcept;

/// Fills the first `bytes` with zeros after the stream's work so far. The caller holds the submission lock.
void clear_report_memory(StreamState& stream, const ReportMemory& memory, std::uint64_t bytes);

/// Waits for the stream's work, before its report is read.
void wait_for_report(StreamState& stream, const ReportMemory& memory);

}  // namespace weir::detail
