/* SPDX-License-Identifier: Apache-2.0 */
/* A good driver that creates the file that WEIR_TEST_TRACE names as soon as it is loaded. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "complete.h"
__attribute__((constructor)) static void leave_a_trace(void) {
  const char* trace = getenv("WEIR_TEST_TRACE");
  const int out = trace ? open(trace, O_WRONLY | O_CREAT, 0600) : -1;
  if (out >= 0) close(out);
}
DRIVER("traces-load", (void)0)
