// SPDX-License-Identifier: Apache-2.0
// Precompiled kernels for the overhead cases, built as a separate code object.
#include <weir/sdk/cpu_kernel.h>

#include <atomic>
#include <cstdint>

#define KERNEL extern "C" __attribute__((visibility("default"))) void

KERNEL empty(const void*, const weir_cpu_run*) {}

// Runs until the host opens the gate at the given address.
KERNEL gate(const void* arguments, const weir_cpu_run*) {
  auto* open = *static_cast<std::atomic<std::uint32_t>* const*>(arguments);
  while (open->load(std::memory_order_acquire) == 0) {
  }
}

// A chain of dependent steps on one core.
KERNEL spin(const void* arguments, const weir_cpu_run* run) {
  const std::uint64_t steps = *static_cast<const std::uint64_t*>(arguments);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block) {
    std::uint64_t state = block + 1;
    for (std::uint64_t i = 0; i < steps; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      asm volatile("" : "+r"(state));
    }
  }
}
