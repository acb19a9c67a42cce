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

/// Returns WEIR_ERROR_DEVICE_LOST once the device is lost.
bool device_lost = false;
template <auto slot>
struct Losable;
template <class... P, weir_result (*weir_driver_table::*slot)(P...)>
struct Losable<slot> {
  static weir_result call(P... given) {
    return device_lost ? WEIR_ERROR_DEVICE_LOST : (real().*slot)(given...);
  }
};

void lose_in_callback(weir_driver_table& table) {
  table.stream_create = Losable<&weir_driver_table::stream_create>::call;
  table.memory_allocate = Losable<&weir_driver_table::memory_allocate>::call;
  table.stream_synchronize = Losable<&weir_driver_table::stream_synchronize>::call;
  table.stream_host_callback = [](weir_stream, weir_host_callback, void*, weir_status*) {
    device_lost = true;
    return weir_result{WEIR_ERROR_DEVICE_LOST};
  };
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
      {"fault-loses-the-device", "a device works until something uncorrectable happens", lose_in_callback},
      {"fault-throws-in-fill", "no exception crosses the table", in_fill<[] { throw 1; }>},
  };
  return mutants;
}

}  // namespace mutant
