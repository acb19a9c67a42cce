/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
#include "crash.h"
__attribute__((constructor)) static void crash_at_once(void) {
  crash();
}
DRIVER("crash-load", (void)0)
