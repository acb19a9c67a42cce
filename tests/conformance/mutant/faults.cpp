// SPDX-License-Identifier: Apache-2.0
// Faults that no rule of the contract has to name: a crash, an exit, a hang.
#include <pthread.h>
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

/// The child ends with SIGABRT, after which kernels of the parent lose the device.
void share_with_children(weir_driver_table& table) {
  static bool is_child = false, has_child = false;
  pthread_atfork(
      nullptr, [] { has_child = true; }, [] { is_child = true; });
  table.device_count = [](std::uint32_t* count, weir_status* status) {
    if (is_child) std::abort();
    return real().device_count(count, status);
  };
  table.kernel_launch = [](weir_stream stream, const weir_launch* launch, weir_status* status) {
    return has_child ? weir_result{WEIR_ERROR_DEVICE_LOST} : real().kernel_launch(stream, launch, status);
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
      {"fault-never-opens", "a device opens",
       [](weir_driver_table& table) {
         table.device_open = [](std::uint32_t, weir_device*, weir_status* status) {
           return refuse(status, WEIR_ERROR_SYSTEM, "the device is in use");
         };
       }},
      {"fault-shares-the-device-with-children", "a forked child does not end the parent's device",
       share_with_children},
      {"fault-throws-in-fill", "no exception crosses the table", in_fill<[] { throw 1; }>},
  };
  return mutants;
}

}  // namespace mutant
