// SPDX-License-Identifier: Apache-2.0
// A preloaded library that fails one allocation of a process. It counts allocations by libweir and its
// drivers, direct or through the C and C++ libraries, oneTBB, libpng or zlib, and fails number
// WEIR_FAIL_ALLOCATION, from 1. It ignores those of the program, the compiler and other libraries, and of
// libgcc: since GCC 13 that uses the memory for unwind tables without a test, so the CPU driver makes room
// first. For the same reason it ignores those of oneTBB's initialization of an arena. WEIR_FAIL_TIMES makes
// it that number of allocations, one after the other. WEIR_FAIL_ONLY limits this to allocations that pass
// through a library with that name prefix. At the end of the process it writes the count into the descriptor
// WEIR_ALLOCATION_COUNT. With WEIR_FAIL_TRACE it prints the stack of the failed allocation.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<std::uint64_t> count{0};
std::uint64_t fails_at = 0, fail_times = 0;
int report_to = -1;
bool active = false, trace = false;
thread_local bool inside = false;  // a stack walk may allocate

enum class Owner { counted, ignored, carrier };

std::string_view only;

// The file name of the library at that address; empty for the program.
std::string_view name_of(const void* address) {
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  std::string_view name = found.dlfo_link_map->l_name;
  if (const auto slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  return name;
}

Owner owner_of(const void* address) {
  const std::string_view name = name_of(address);
  if (name.empty()) return Owner::ignored;  // the program, which may allocate as it likes
  if (name.starts_with("libweir.so") ||
      (name.starts_with("libweir-") && !name.starts_with("libweir-codegen")))
    return Owner::counted;
  for (const std::string_view carrier :
       {"libstdc++.", "libc.so", "ld-linux", "failing_allocator", "libtbb", "libpng", "libz."})
    if (name.starts_with(carrier)) return Owner::carrier;
  return Owner::ignored;
}

struct Found {
  Owner owner;
  bool passed;  // through a library that WEIR_FAIL_ONLY names
};

bool initializes_arena(const void* address) {
  Dl_info function{};
  return name_of(address).starts_with("libtbb") && dladdr(address, &function) != 0 && function.dli_sname &&
         std::string_view(function.dli_sname) == "_ZN3tbb6detail2r110initializeERNS0_2d115task_arena_baseE";
}

_Unwind_Reason_Code look(_Unwind_Context* context, void* user) {
  auto* found = static_cast<Found*>(user);
  const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(context) - 1);
  if (initializes_arena(address)) return _URC_END_OF_STACK;
  const Owner owner = owner_of(address);
  found->passed = found->passed || name_of(address).starts_with(only);
  if (owner == Owner::carrier) return _URC_NO_REASON;
  found->owner = owner;
  return _URC_END_OF_STACK;
}

bool fails(const void* caller) {
  if (!active || inside) return false;
  inside = true;
  Found found{owner_of(caller), only.empty() || name_of(caller).starts_with(only)};
  if (found.owner == Owner::carrier) {
    found.owner = Owner::ignored;
    _Unwind_Backtrace(&look, &found);
  }
  bool failed = false;
  if (found.owner == Owner::counted && found.passed) failed = ++count - fails_at < fail_times;
  if (failed) {
    if (trace) {
      void* frames[40];
      backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
    }
  }
  inside = false;
  if (failed) errno = ENOMEM;
  return failed;
}

__attribute__((constructor)) void start() {
  void* frames[4];
  backtrace(frames, 4);  // loads its library before allocations are counted
  const char* const at = std::getenv("WEIR_FAIL_ALLOCATION");
  const char* const to = std::getenv("WEIR_ALLOCATION_COUNT");
  trace = std::getenv("WEIR_FAIL_TRACE");
  if (const char* const name = std::getenv("WEIR_FAIL_ONLY")) only = name;
  fails_at = at ? std::strtoull(at, nullptr, 10) : 0;
  const char* const times = std::getenv("WEIR_FAIL_TIMES");
  if (fails_at) fail_times = times ? std::strtoull(times, nullptr, 10) : 1;
  report_to = to ? std::atoi(to) : -1;
  unsetenv("WEIR_FAIL_ALLOCATION");  // not for the processes that this one starts
  unsetenv("WEIR_ALLOCATION_COUNT");
  unsetenv("LD_PRELOAD");
  pthread_atfork(nullptr, nullptr, [] {
    active = false;
    report_to = -1;
  });
  active = at;
}

__attribute__((destructor)) void end() {
  active = false;
  const std::uint64_t all = count;
  if (report_to >= 0 && write(report_to, &all, sizeof all) < 0) report_to = -1;
}

void* memory_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  if (!fails(caller))
    if (void* memory = alignment ? __libc_memalign(alignment, size) : __libc_malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#define CALLER __builtin_return_address(0)

// Without a declaration in the headers above, some would be hidden.
#pragma GCC visibility push(default)
extern "C" {
void* malloc(std::size_t size) {
  return fails(CALLER) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  return fails(CALLER) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  return size && fails(CALLER) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails(CALLER) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails(CALLER) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  void* const memory = fails(CALLER) ? nullptr : __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}
}
#pragma GCC visibility pop

void* operator new(std::size_t size) {
  return memory_or_throw(size, 0, CALLER);
}
void* operator new[](std::size_t size) {
  return memory_or_throw(size, 0, CALLER);
}
void* operator new(std::size_t size, std::align_val_t a) {
  return memory_or_throw(size, static_cast<std::size_t>(a), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return memory_or_throw(size, static_cast<std::size_t>(a), CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(CALLER) ? nullptr : __libc_malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails(CALLER) ? nullptr : __libc_malloc(size);
}
