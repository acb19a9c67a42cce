// SPDX-License-Identifier: Apache-2.0
// The contents of freed memory at the moment when the driver returns it to the system.
#include <atomic>

#include "support.hpp"

#ifndef NDEBUG

namespace {

constexpr unsigned char poison = 0xdd;

// The watched block. A single thread frees it; others free blocks of their own meanwhile.
std::atomic<const unsigned char*> watched = nullptr;
std::size_t watched_size = 0;
int seen = 0;           // the number of times that it was freed
std::size_t fresh = 0;  // its bytes that were not poisoned then

void look(const volatile void* given_back) {
  const unsigned char* const block = watched;
  if (!given_back || given_back != block) return;
  for (std::size_t i = 0; i < watched_size; ++i) fresh += block[i] != poison;
  ++seen;
  watched = nullptr;
}

}  // namespace

#ifdef WEIR_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));
static void look_at_all() {
  [[maybe_unused]] static const int installed =
      __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t) {}, look);
}
#else
// Replaces the C library's function in the driver too, which is loaded into this process.
extern "C" void __libc_free(void*);
extern "C" __attribute__((visibility("default"))) void free(void* given_back) {
  look(given_back);
  __libc_free(given_back);
}
static void look_at_all() {}
#endif

namespace cpu_test {

TEST(Memory, IsPoisonedOnFreeInBuildsWithAssertions) {
  look_at_all();
  constexpr std::uint64_t size = 1000;
  const weir_memory_options options = memory_options(size);
  weir_allocation memory = nullptr;
  call(table().memory_allocate, first_device(), &options, &memory);
  weir_memory_info info{};
  info.struct_size = sizeof info;
  call(table().memory_get_info, memory, &info);
  std::memset(info.host_pointer, 1, size);
  watched_size = size;
  watched = static_cast<const unsigned char*>(info.host_pointer);
  call(table().memory_free, memory);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(fresh, 0u);
}

}  // namespace cpu_test

#endif
