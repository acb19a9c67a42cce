/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "complete.h"
static weir_result count_and_print(uint32_t* out_count, weir_status* status) {
  const char garbage[] = "crashed load 11\nweir-probe 1\n\xff";
  if (write(STDOUT_FILENO, garbage, sizeof garbage) < 0) return WEIR_ERROR_SYSTEM;
  printf("and by printf\n");
  return one_device(out_count, status);
}
DRIVER("prints", table.device_count = count_and_print)
