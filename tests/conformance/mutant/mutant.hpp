// SPDX-License-Identifier: Apache-2.0
// A driver that violates a single rule: it returns the real driver's table with some slots replaced.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace mutant {

using Table = weir_driver_table;
using Stream = weir_stream;
using Event = weir_event;
using Memory = weir_allocation;
using Size = std::uint64_t;
using Status = weir_status;

struct Mutant {
  const char* name;
  const char* rule;  ///< the violated rule, in a few words
  void (*apply)(weir_driver_table& table);
};

/// All mutants.
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
std::span<const Mutant> hole_mutants();
std::span<const Mutant> missed_mutants();
std::span<const Mutant> relation_mutants();
std::span<const Mutant> compiling_mutants();
std::span<const Mutant> decision_mutants();
std::span<const Mutant> kind_mutants();
/// For drivers with cooperative launches, which the CPU driver lacks; not in all().
std::span<const Mutant> cooperative_mutants();

/// Gives the table a correct code_compile, which makes code of this format.
void add_compiler(weir_driver_table& table);
inline constexpr const char* machine_format = "mutant-elf";

/// The real driver's table.
const weir_driver_table& real();

/// Faults of the entry point, set by entry mutants.
struct EntryFaults {
  bool accepts_any_version = false, touches_the_table = false, wrong_code = false, no_words = false;
  bool another_table_each_time = false, opens_a_library = false, version_past_the_host = false;
};
EntryFaults& entry_faults();

/// The device that was opened last, and a private stream of it.
std::atomic<weir_device>& opened_device();
weir_stream hidden_stream();

/// Never returns.
[[noreturn]] void hang();

/// Returns `code` and stores `message` in `status`.
weir_result refuse(weir_status* status, weir_result code, const char* message);

/// Bytes of an allocation; 0 if it cannot be queried.
std::uint64_t size_of(weir_allocation allocation);
/// Whether an allocation is pinned memory.
bool is_pinned(weir_allocation allocation);

}  // namespace mutant
