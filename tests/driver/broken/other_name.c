/* SPDX-License-Identifier: Apache-2.0 */
/* Its manifest says something else. */
#include "complete.h"
DRIVER("somebody-else", (void)0)
