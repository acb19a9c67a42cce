/* SPDX-License-Identifier: Apache-2.0 */
/* Can only be probed concurrently with meets_too.c. */
#include "meeting.h"
DRIVER("meets", table.device_count = count_together)
