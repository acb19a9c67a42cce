// SPDX-License-Identifier: Apache-2.0
// Kernels as a foreign compiler would supply them: a shared object, loaded as bytes.
#include <weir/sdk/cpu_kernel.h>

#include <ctime>

#include "support/kernel_arguments.hpp"
#include "tested_device.hpp"

#define KERNEL extern "C" __attribute__((visibility("default"))) void

namespace {

std::uint64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

bool wait_until(const std::uint32_t* flag, std::uint32_t at_least) {
  const std::uint64_t limit = now() + std::uint64_t(std::chrono::nanoseconds(weir::test::patience()).count());
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < at_least) {
    if (now() > limit) return false;
    timespec moment{0, 20'000};
    nanosleep(&moment, nullptr);
  }
  return true;
}

}  // namespace

KERNEL nothing(const void*, const weir_cpu_run*) {}

KERNEL add_value(const void* opaque, const weir_cpu_run* run) {
  const auto& a = *static_cast<const AddValue*>(opaque);
  const std::int64_t blocks = run->grid[0];
  for (auto b = static_cast<std::int64_t>(run->first_block); b < static_cast<std::int64_t>(run->end_block);
       ++b)
    for (std::int64_t i = a.count * b / blocks; i < a.count * (b + 1) / blocks; ++i) a.data[i] += a.value;
}

KERNEL multiply(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const AddValue*>(opaque);
  for (std::int64_t i = 0; i < a.count; ++i) a.data[i] *= a.value;
}

KERNEL append(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const Append*>(opaque);
  const std::uint32_t place = __atomic_add_fetch(a.log, 1u, __ATOMIC_ACQ_REL);
  __atomic_store_n(a.log + place, a.value, __ATOMIC_RELEASE);
}

KERNEL gate(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const Gate*>(opaque);
  wait_until(a.flag, a.at_least);
}

KERNEL meet(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const Meet*>(opaque);
  const std::uint32_t arrived = __atomic_add_fetch(a.counter, 1u, __ATOMIC_ACQ_REL);
  (void)arrived;
  if (wait_until(a.counter, a.expected)) __atomic_add_fetch(a.met, 1u, __ATOMIC_ACQ_REL);
}

KERNEL linger(const void* opaque, const weir_cpu_run* run) {
  const auto& a = *static_cast<const Linger*>(opaque);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block) {
    timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
    __atomic_add_fetch(a.counter, 1u, __ATOMIC_ACQ_REL);
  }
}

KERNEL fail_at(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const FailAt*>(opaque);
  std::uint32_t free = 0;
  if (!__atomic_compare_exchange_n(&a.record->state, &free, 1u, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return;
  a.record->site = a.site;
  for (int i = 0; i < 4; ++i) a.record->index[i] = i == 0 ? a.index : 0;
  __atomic_store_n(&a.record->state, 2u, __ATOMIC_RELEASE);
}

KERNEL sum_bytes(const void* opaque, const weir_cpu_run*) {
  const auto& a = *static_cast<const SumBytes*>(opaque);
  std::uint32_t sum = 0;
  for (unsigned char byte : a.bytes) sum += byte;
  *a.out = sum;
}
