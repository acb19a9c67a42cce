/* SPDX-License-Identifier: Apache-2.0 */
/* Its manifest has another name. */
#include "complete.h"
DRIVER("somebody-else", (void)0)
