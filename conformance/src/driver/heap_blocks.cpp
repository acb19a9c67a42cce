// SPDX-License-Identifier: Apache-2.0
// Counts the blocks and bytes of glibc's heap: the program's malloc takes precedence over the library's, for
// all libraries.
#include "driver/heap_blocks.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)

namespace {
std::atomic<std::int64_t> blocks{0}, bytes{0};

void count(void* block, int sign) noexcept {
  if (!block) return;
  blocks.fetch_add(sign, std::memory_order_relaxed);
  bytes.fetch_add(sign * static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
}
void* counted(void* block) noexcept {
  count(block, 1);
  return block;
}
}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* __libc_valloc(std::size_t);
void* __libc_pvalloc(std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) noexcept {
  return counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return counted(__libc_calloc(count, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const block = memalign(alignment, size);
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}
void* valloc(std::size_t size) noexcept {
  return counted(__libc_valloc(size));
}
void* pvalloc(std::size_t size) noexcept {
  return counted(__libc_pvalloc(size));
}
void free(void* block) noexcept {
  count(block, -1);
  __libc_free(block);
}
void* realloc(void* block, std::size_t size) noexcept {
  const std::size_t before = block ? malloc_usable_size(block) : 0;
  void* const moved = __libc_realloc(block, size);
  if (!moved && size != 0) return nullptr;  // the block is left as it was; glibc frees it for a size of 0
  if (block) {
    blocks.fetch_sub(1, std::memory_order_relaxed);
    bytes.fetch_sub(static_cast<std::int64_t>(before), std::memory_order_relaxed);
  }
  return counted(moved);
}
}
#pragma GCC visibility pop

namespace weir::conformance {
bool counts_heap_blocks() noexcept {
  return true;
}
std::int64_t heap_blocks() noexcept {
  return blocks.load(std::memory_order_relaxed);
}
std::int64_t heap_bytes() noexcept {
  return bytes.load(std::memory_order_relaxed);
}
}  // namespace weir::conformance

#else

namespace weir::conformance {
bool counts_heap_blocks() noexcept {
  return false;
}
std::int64_t heap_blocks() noexcept {
  return 0;
}
std::int64_t heap_bytes() noexcept {
  return 0;
}
}  // namespace weir::conformance

#endif
