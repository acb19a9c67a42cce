// SPDX-License-Identifier: Apache-2.0
// Objects that the driver does not load; REFUSED_... selects one.
#include <weir/sdk/cpu_kernel.h>

#define EXPORTED __attribute__((visibility("default")))

#ifdef REFUSED_THREAD_LOCAL
EXPORTED __thread uint32_t own = 1;
#endif
#ifdef REFUSED_IFUNC
static void one(void) {}
static void (*choose(void))(void) { return one; }
EXPORTED void chosen(void) __attribute__((ifunc("choose")));
#endif
#ifdef REFUSED_MISSING
extern void no_library_has_this(void);
#endif

EXPORTED void kernel(const void *arguments, const weir_cpu_run *run) {
  (void)arguments;
  (void)run;
#ifdef REFUSED_MISSING
  no_library_has_this();
#endif
}
