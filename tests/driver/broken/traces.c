/* SPDX-License-Identifier: Apache-2.0 */
/* A good driver that adds its process id to the file that WEIR_TEST_TRACE names, each time that its devices
 * are counted. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complete.h"
static weir_result count_and_tell(uint32_t* out_count, weir_status* status) {
  const char* trace = getenv("WEIR_TEST_TRACE");
  const int out = trace ? open(trace, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (out >= 0) {
    char line[32];
    const int length = snprintf(line, sizeof line, "%d\n", (int)getpid());
    if (write(out, line, (size_t)length) != length)
      return answer(status, WEIR_ERROR_SYSTEM, "the trace is full");
    close(out);
  }
  return one_device(out_count, status);
}
DRIVER("traces", table.device_count = count_and_tell)
