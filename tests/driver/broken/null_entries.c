/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
DRIVER("null-entries", table.stream_flush = NULL; table.kernel_launch = NULL)
