/* SPDX-License-Identifier: Apache-2.0 */
/* The other one. */
#include "meeting.h"
DRIVER("meets-too", table.device_count = count_together)
