/* SPDX-License-Identifier: Apache-2.0 */
/* Can only be probed concurrently with meets.c. */
#include "meeting.h"
DRIVER("meets-too", table.device_count = count_together)
