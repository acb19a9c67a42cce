/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
DRIVER(NULL, (void)0)
