/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
DRIVER("Bad Name!", (void)0)
