/* SPDX-License-Identifier: Apache-2.0
 *
 * Closes every file while it is probed, but not in the process that loads it permanently, which needs its
 * files. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "complete.h"
static weir_result count_without_files(uint32_t* out_count, weir_status* status) {
  char name[512] = "";
  if (readlink("/proc/self/exe", name, sizeof name - 1) > 0 && strstr(name, "weir-probe"))
    for (int file = 0; file < 1024; ++file) close(file);
  return one_device(out_count, status);
}
DRIVER("closes-files", table.device_count = count_without_files)
