// SPDX-License-Identifier: Apache-2.0
// Faults that no rule of the contract has to name: a crash, an exit, a hang.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mutant.hpp"

namespace mutant {
namespace {

template <auto fault>
void in_fill(weir_driver_table& table) {
  table.fill = [](weir_stream, weir_allocation, std::uint64_t, std::uint64_t, const void*, std::uint32_t,
                  weir_status*) {
    fault();
    return weir_result{WEIR_OK};
  };
}

void hang() {
  for (;;) pause();
}

}  // namespace

std::span<const Mutant> fault_mutants() {
  static const Mutant mutants[] = {
      {"fault-crashes-in-fill", "nothing aborts", in_fill<std::abort>},
      {"fault-exits-in-fill", "nothing exits", in_fill<[] { _exit(0); }>},
      {"fault-hangs-in-fill", "a submission returns", in_fill<hang>},
      {"fault-prints-in-free", "nothing prints",
       [](weir_driver_table& table) {
         table.memory_free = [](weir_allocation allocation, weir_status* status) {
           std::fputs("memory_free: done\n", stderr);
           return real().memory_free(allocation, status);
         };
       }},
      {"fault-throws-in-fill", "no exception crosses the table", in_fill<[] { throw 1; }>},
  };
  return mutants;
}

}  // namespace mutant
