/* SPDX-License-Identifier: Apache-2.0 */
/* Can only be probed beside another. */
#include "meeting.h"
DRIVER("meets", table.device_count = count_together)
