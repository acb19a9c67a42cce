/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_CRASH_H
#define WEIR_TESTS_CRASH_H

#include <stddef.h>
#include <sys/mman.h>

/* Writes to an invalid address in a way that no compiler or sanitizer detects. */
static inline void crash(void) {
  *(volatile char*)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}

#endif
