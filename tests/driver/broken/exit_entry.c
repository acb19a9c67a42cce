/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "complete.h"
DRIVER("exit-entry", exit(0))
