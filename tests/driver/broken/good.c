/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
DRIVER("good", (void)0)
