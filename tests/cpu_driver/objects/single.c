// SPDX-License-Identifier: Apache-2.0
// An object without start files and relocations, with one function for initialisation and one for termination (DT_INIT, DT_FINI).
#include <weir/sdk/cpu_kernel.h>

struct arguments {
  uint32_t *out;
};

static uint32_t begun;
static uint32_t *ended;

void begin_single(void) { begun = 5; }

void end_single(void) {
  if (ended) *ended = 6;
}

__attribute__((visibility("default"))) void remember(const void *opaque, const weir_cpu_run *run) {
  (void)run;
  ended = ((const struct arguments *)opaque)->out;
  *ended = begun;
}
