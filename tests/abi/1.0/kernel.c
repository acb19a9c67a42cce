/* SPDX-License-Identifier: Apache-2.0
 *
 * A code object of the format "elf-x86_64": `add` adds a number to each element of an array. */
#include <weir/sdk/cpu_kernel.h>

struct add_arguments {
  int64_t *numbers;
  int64_t count, summand;
};

__attribute__((visibility("default"))) void add(const void *arguments, const weir_cpu_run *run) {
  const struct add_arguments *given = arguments;
  const uint64_t blocks = run->grid[0], count = (uint64_t)given->count;
  for (uint64_t i = count * run->first_block / blocks; i < count * run->end_block / blocks; ++i)
    given->numbers[i] += given->summand;
}
