// SPDX-License-Identifier: Apache-2.0
// Preloaded into weir-codegen. In each worker, the allocation with the number in WEIR_TEST_FAIL_ALLOCATION
// fails, counted from 0.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);

static long chosen = -1, next = -1;  // next is negative in processes whose allocations must not fail

static void in_worker(void) {
  const char* const number = getenv("WEIR_TEST_FAIL_ALLOCATION");
  if (!number || strcmp(program_invocation_short_name, "weir-codegen") != 0) return;
  chosen = atol(number);
  next = 0;
}

__attribute__((constructor)) static void register_fork_handlers(void) {
  pthread_atfork(NULL, NULL, in_worker);
}

static int fails(void) {
  if (next < 0 || next++ != chosen) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  return fails() ? NULL : __libc_realloc(memory, size);
}
