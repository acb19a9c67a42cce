/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "complete.h"
DRIVER("hang-entry", for (;;) pause())
