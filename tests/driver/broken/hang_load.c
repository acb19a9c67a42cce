/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "complete.h"
__attribute__((constructor)) static void hang(void) {
  for (;;) pause();
}
DRIVER("hang-load", (void)0)
