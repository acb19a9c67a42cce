// SPDX-License-Identifier: Apache-2.0
// A separate source file, so that compilers cannot inline the replaced operators.
#include "support/count_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t allocations = 0;
std::atomic<std::uint64_t> all_allocations{0};
}  // namespace

std::uint64_t weir::test::allocations_of_this_thread() noexcept {
  return allocations;
}

std::uint64_t weir::test::allocations_of_all_threads() noexcept {
  return all_allocations.load(std::memory_order_relaxed);
}

#ifndef WEIR_SANITIZED
void* operator new(std::size_t size) {
  ++allocations;
  all_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
