// SPDX-License-Identifier: Apache-2.0
// A driver that is right but for one rule: it hands the real driver's table on, with some slots replaced.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace mutant {

struct Mutant {
  const char* name;
  const char* rule;  ///< what it breaks, in a few words
  void (*apply)(weir_driver_table& table);
};

/// All of them.
std::vector<Mutant> all();

std::span<const Mutant> entry_mutants();
std::span<const Mutant> device_mutants();
std::span<const Mutant> memory_mutants();
std::span<const Mutant> copy_mutants();
std::span<const Mutant> stream_mutants();
std::span<const Mutant> event_mutants();
std::span<const Mutant> launch_mutants();
std::span<const Mutant> ordered_mutants();
std::span<const Mutant> graph_mutants();
std::span<const Mutant> fault_mutants();
std::span<const Mutant> code_mutants();
std::span<const Mutant> thread_mutants();

/// The real driver's table.
const weir_driver_table& real();

/// What the entry point does wrong, set by entry mutants.
struct EntryFaults {
  bool accepts_any_version = false, touches_the_table = false, wrong_code = false, no_words = false;
  bool another_table_each_time = false, opens_a_library = false, version_past_the_host = false;
};
EntryFaults& entry_faults();

/// The device that was opened last, and a stream of it that nobody else knows.
std::atomic<weir_device>& opened_device();
weir_stream hidden_stream();

/// A refusal with words.
weir_result refuse(weir_status* status, weir_result code, const char* message);

/// Bytes of an allocation; 0 when it cannot be asked.
std::uint64_t size_of(weir_allocation allocation);

}  // namespace mutant
