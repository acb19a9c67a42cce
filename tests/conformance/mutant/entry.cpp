// SPDX-License-Identifier: Apache-2.0
#include "mutant.hpp"

namespace mutant {

std::span<const Mutant> entry_mutants() {
  using Table = weir_driver_table;
  static const Mutant mutants[] = {
      {"entry-accepts-newer-major", "versions outside the host's range are refused",
       [](Table&) { entry_faults().accepts_any_version = true; }},
      {"entry-refusal-touches-table", "a refusal does not change out_table",
       [](Table&) { entry_faults().touches_the_table = true; }},
      {"entry-wrong-refusal-code", "a refusal returns WEIR_ERROR_ABI",
       [](Table&) { entry_faults().wrong_code = true; }},
      {"entry-refusal-without-words", "a refusal fills the status",
       [](Table&) { entry_faults().no_words = true; }},
      {"entry-version-past-the-host", "abi_version is inside the host's range",
       [](Table&) { entry_faults().version_past_the_host = true; }},
      {"entry-another-table-each-time", "the table stays the same",
       [](Table&) { entry_faults().another_table_each_time = true; }},
      {"entry-opens-a-library", "the entry point opens no library",
       [](Table&) { entry_faults().opens_a_library = true; }},
      {"table-required-slot-null", "required slots are filled", [](Table& t) { t.stream_flush = nullptr; }},
      {"table-claimed-slot-null", "slots of claimed capabilities are filled",
       [](Table& t) { t.event_elapsed = nullptr; }},
      {"table-graph-slot-null", "slots of GRAPHS are filled", [](Table& t) { t.graph_update = nullptr; }},
      {"table-name-upper-case", "the name is lower case", [](Table& t) { t.name = "Mutant"; }},
      {"table-name-too-long", "the name has at most 32 characters",
       [](Table& t) { t.name = "mutant-with-a-name-of-33-letters-"; }},
      {"table-name-begins-with-a-dash", "the name does not begin with '-'",
       [](Table& t) { t.name = "-mutant"; }},
      {"table-no-version", "the driver's version is given", [](Table& t) { t.version = ""; }},
      {"table-no-vendor", "the driver's vendor is given", [](Table& t) { t.vendor = nullptr; }},
      {"table-size-too-small", "struct_size covers the version",
       [](Table& t) { t.struct_size -= 2 * sizeof(void*); }},
      {"extension-always-found", "unknown extensions are not found",
       [](Table& t) {
         t.get_extension = [](const char*, std::uint32_t, const void** out, weir_status*) -> weir_result {
           *out = &real();
           return WEIR_OK;
         };
       }},
      {"extension-refusal-touches-output", "a refusal does not change its output",
       [](Table& t) {
         t.get_extension = [](const char*, std::uint32_t, const void** out,
                              weir_status* status) -> weir_result {
           *out = nullptr;
           return refuse(status, WEIR_ERROR_NOT_FOUND, "no such extension");
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
