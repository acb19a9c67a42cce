// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>
#include <weir/sdk/cpu_kernel.h>

#include <ctime>

#include "kernel_arguments.hpp"

#define KERNEL extern "C" __attribute__((visibility("default"))) void

namespace {

std::uint64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

bool wait_for(std::uint32_t* flag, std::uint32_t expected) {
  const std::uint64_t limit = now() + 20'000'000'000u;
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != expected) {
    if (now() > limit) return false;
    __builtin_ia32_pause();
  }
  return true;
}

void report(std::uint32_t* result, bool passed) {
  if (result) __atomic_fetch_add(result, passed ? 1u : 1000u, __ATOMIC_RELEASE);
}

}  // namespace

KERNEL nothing(const void*, const weir_cpu_run*) {}

KERNEL add(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const AddArguments*>(opaque);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block)
    arguments.data[block] += arguments.value;
}

KERNEL append(const void* opaque, const weir_cpu_run*) {
  const auto& arguments = *static_cast<const AppendArguments*>(opaque);
  arguments.log[++arguments.log[0]] = arguments.value;  // not atomic: one stream runs in order
}

KERNEL gate(const void* opaque, const weir_cpu_run*) {
  const auto& arguments = *static_cast<const GateArguments*>(opaque);
  report(arguments.result, wait_for(arguments.flag, arguments.expected));
}

KERNEL meet(const void* opaque, const weir_cpu_run*) {
  const auto& arguments = *static_cast<const MeetArguments*>(opaque);
  __atomic_store_n(arguments.mine, 1u, __ATOMIC_RELEASE);
  report(arguments.result, wait_for(arguments.other, 1));
}

KERNEL spin(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const SpinArguments*>(opaque);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block)
    for (const std::uint64_t end = now() + arguments.nanoseconds; now() < end;) __builtin_ia32_pause();
}

KERNEL sleep_once(const void* opaque, const weir_cpu_run*) {
  const auto& arguments = *static_cast<const SleepArguments*>(opaque);
  __atomic_fetch_add(arguments.begun, 1u, __ATOMIC_RELEASE);
  const timespec time{arguments.nanoseconds / 1'000'000'000, arguments.nanoseconds % 1'000'000'000};
  nanosleep(&time, nullptr);
}

KERNEL see_run(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const RunArguments*>(opaque);
  for (int i = 0; i < 3; ++i) {
    __atomic_store_n(arguments.grid_and_block + i, run->grid[i], __ATOMIC_RELAXED);
    __atomic_store_n(arguments.grid_and_block + 3 + i, run->block[i], __ATOMIC_RELAXED);
  }
  auto* shared = static_cast<unsigned char*>(run->shared);
  bool good = run->struct_size == sizeof *run;
  good = good && reinterpret_cast<std::uintptr_t>(shared) % 64 == 0 &&
         (shared != nullptr) == (run->shared_bytes != 0);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block) {
    const auto mark = static_cast<unsigned char>(block);
    for (std::uint32_t i = 0; i < run->shared_bytes; ++i) shared[i] = mark;
    for (std::uint32_t i = 0; i < run->shared_bytes; ++i) good = good && shared[i] == mark;
  }
  if (!good) __atomic_fetch_add(arguments.shared_failures, 1u, __ATOMIC_RELAXED);
}

KERNEL tell_thread(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const ThreadArguments*>(opaque);
  for (std::uint64_t block = run->first_block; block < run->end_block; ++block) {
    if (arguments.arrived) {
      const std::uint64_t end = now() + arguments.nanoseconds;
      __atomic_fetch_add(arguments.arrived, 1u, __ATOMIC_RELEASE);
      while (__atomic_load_n(arguments.arrived, __ATOMIC_ACQUIRE) < arguments.awaited && now() < end)
        sched_yield();  // the awaited threads may need this core
    }
    __atomic_store_n(&arguments.threads[block], static_cast<std::uint32_t>(gettid()), __ATOMIC_RELEASE);
    if (arguments.quotients) {
      const volatile float tiny = 1e-38f, ten = 10;
      arguments.quotients[block] = tiny / ten;
    }
  }
}

KERNEL sum_large(const void* opaque, const weir_cpu_run*) {
  const auto& arguments = *static_cast<const LargeArguments*>(opaque);
  std::uint32_t sum = reinterpret_cast<std::uintptr_t>(opaque) % 16 == 0 ? 0 : 1'000'000;
  for (std::uint32_t value : arguments.values) sum += value;
  *arguments.out = sum;
}

KERNEL triad(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const TriadArguments*>(opaque);
  const std::uint64_t end = run->end_block * arguments.elements_per_block;
  for (std::uint64_t i = run->first_block * arguments.elements_per_block; i < end; ++i)
    arguments.a[i] = arguments.b[i] + 3.0f * arguments.c[i];
}

extern "C" __attribute__((visibility("default"))) int not_a_function;
int not_a_function = 7;
