/* SPDX-License-Identifier: Apache-2.0 */
/* Hangs with every signal blocked, as a vendor's runtime might, and writes its process id to the file that
 * WEIR_TEST_TRACE names. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "complete.h"
static __attribute__((noreturn)) weir_result hang(uint32_t* out_count UNUSED, weir_status* status UNUSED) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  const char* trace = getenv("WEIR_TEST_TRACE");
  FILE* out = trace ? fopen(trace, "a") : NULL;
  if (out) {
    fprintf(out, "%d\n", (int)getpid());
    fclose(out);
  }
  for (;;) pause();
}
DRIVER("hang-count", table.device_count = hang)
