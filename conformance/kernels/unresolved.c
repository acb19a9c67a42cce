/* SPDX-License-Identifier: Apache-2.0
 *
 * A code object of the format "elf-x86_64" that no loader can complete. Its kernel reads a variable that nothing
 * defines. */
#include <weir/sdk/cpu_kernel.h>

extern const int64_t weir_conformance_defined_nowhere;

__attribute__((visibility("default"))) void unresolved(const void* arguments, const weir_cpu_run* run) {
  (void)run;
  **(int64_t* const*)arguments = weir_conformance_defined_nowhere;
}
