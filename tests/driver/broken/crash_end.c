/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "complete.h"
__attribute__((destructor)) static void fail(void) {
  abort();
}
DRIVER("crash-end", (void)0)
