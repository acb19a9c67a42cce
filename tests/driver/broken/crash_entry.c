/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
#include "crash.h"
DRIVER("crash-entry", crash())
