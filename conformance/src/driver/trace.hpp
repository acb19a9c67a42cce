// SPDX-License-Identifier: Apache-2.0
// The calls of the table in a test, for the messages of failures. They are kept in memory that the
// supervising process shares, so that it can name them after a crash or a hang too.
#pragma once

#include <weir/driver.h>

#include <string>

namespace weir::conformance {

/// The memory of a trace: made by the supervisor, inherited by a worker.
class TraceMemory {
 public:
  /// Throws std::system_error.
  TraceMemory();
  TraceMemory(const TraceMemory&) = delete;
  TraceMemory& operator=(const TraceMemory&) = delete;
  ~TraceMemory();

  /// The descriptor that a worker inherits; see use_trace().
  int descriptor() const { return descriptor_; }
  /// The calls in flight and the last calls, in two sentences; empty if nothing was called.
  std::string text() const;

 private:
  int descriptor_ = -1;
  void* memory_ = nullptr;
};

/// Keeps this process's trace in the memory of a TraceMemory, and closes the descriptor. Without it the trace
/// is kept in this process.
void use_trace(int descriptor);

/// Removes the calls of the previous test.
void begin_trace();
/// Notes that this thread calls a slot, and that it has returned.
void trace_begin(int slot);
void trace_end(int slot, weir_result result);
/// As TraceMemory::text(), of this process.
std::string trace_text();

/// The names of the slots that threads of this process are in, with commas; empty if there are none.
std::string calls_in_flight();

/// The rules of driver.h for each function of the table that `text` names, with the line, for messages.
std::string contract_of(const std::string& text);

}  // namespace weir::conformance
