// SPDX-License-Identifier: Apache-2.0
// Linked to a driver's sources: adds the fault that WEIR_ODD names, at load or at process exit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wanted(const char *fault) {
  const char *odd = getenv("WEIR_ODD");
  return odd && strcmp(odd, fault) == 0;
}

static void hang(void) {
  for (;;) pause();
}

__attribute__((constructor)) static void on_load(void) {
  if (wanted("hangs-on-load")) hang();
  if (wanted("writes-into-descriptors"))
    for (int i = 3; i < 64; ++i)
      if (write(i, "garbage", 7) < 0) continue;
  if (wanted("leaves-a-process") && fork() == 0) {
    alarm(20);  // not waited for
    hang();
  }
}

__attribute__((destructor)) static void at_exit(void) {
  if (wanted("aborts-at-exit")) abort();
  if (wanted("hangs-at-exit")) hang();
  if (wanted("prints-at-exit")) fputs("good-bye\n", stderr);
}
