/* SPDX-License-Identifier: Apache-2.0 */
/* Has the same name as good.c. */
#include "complete.h"
DRIVER("good", table.version = "2.0.0")
