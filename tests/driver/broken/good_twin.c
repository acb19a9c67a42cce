/* SPDX-License-Identifier: Apache-2.0 */
/* Calls itself as good.c does. */
#include "complete.h"
DRIVER("good", table.version = "2.0.0")
