// SPDX-License-Identifier: Apache-2.0
// An object that calls a function of another library (DT_NEEDED).
#include <weir/sdk/cpu_kernel.h>

struct arguments {
  uint32_t *out;
};

uint32_t only_in_this_library(void);

__attribute__((visibility("default"))) void call_library(const void *opaque, const weir_cpu_run *run) {
  (void)run;
  *((const struct arguments *)opaque)->out = only_in_this_library();
}
