/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that counts its devices only once two processes probe it: each adds a line to the file that
 * WEIR_TEST_TRACE names, and waits until there are two. */
#ifndef WEIR_TESTS_MEETING_H
#define WEIR_TESTS_MEETING_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "complete.h"
static weir_result count_together(uint32_t* out_count, weir_status* status) {
  const char* trace = getenv("WEIR_TEST_TRACE");
  const int out = trace ? open(trace, O_WRONLY | O_APPEND, 0600) : -1;
  if (out < 0 || write(out, "\n", 1) != 1) return answer(status, WEIR_ERROR_SYSTEM, "there is no trace");
  const struct timespec moment = {0, 1000 * 1000};
  struct stat file;
  while (fstat(out, &file) == 0 && file.st_size < 2) nanosleep(&moment, NULL);
  close(out);
  return one_device(out_count, status);
}

#endif
