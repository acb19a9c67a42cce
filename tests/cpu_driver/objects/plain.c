// SPDX-License-Identifier: Apache-2.0
// An object without start files and initialisation, with every kind of relocation that the driver applies.
#include <string.h>
#include <weir/sdk/cpu_kernel.h>

#define EXPORTED __attribute__((visibility("default")))

struct arguments {
  uint32_t *out;
};

static uint32_t first(void) { return 1; }
static uint32_t second(void) { return 2; }
/* R_X86_64_RELATIVE, made read-only; more than one word of DT_RELR describes. */
typedef uint32_t (*function)(void);
static const function table[130] = {[0 ... 64] = first, [65 ... 129] = second};

EXPORTED uint32_t counter = 10;
EXPORTED uint32_t *counter_address = &counter;  // R_X86_64_64
uint32_t cleared[5000];                         // larger than a page, zero-initialised

/* The test program exports a function of the same name, which must not replace this one. */
EXPORTED uint32_t who_is_called(void) { return 7; }

extern int not_defined_anywhere(void) __attribute__((weak));

EXPORTED void fill_in(const void *opaque, const weir_cpu_run *run) {
  const struct arguments *arguments = opaque;
  (void)run;
  const function *at = table;
  __asm__("" : "+r"(at)); /* otherwise the compiler calls the functions without the table */
  uint32_t sum = 0;
  for (int i = 0; i < 130; ++i) sum += at[i]();
  uint32_t result[6] = {at[0](), sum == 65 * 1 + 65 * 2 ? at[129]() : 0, *counter_address, cleared[4999], who_is_called(),
                        not_defined_anywhere ? 1u : 0u};
  memcpy(arguments->out, result, sizeof result);
}
