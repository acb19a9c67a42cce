/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "complete.h"
__attribute__((destructor)) static void hang(void) {
  for (;;) pause();
}
DRIVER("hang-end", (void)0)
