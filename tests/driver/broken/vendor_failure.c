/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's runtime fails with an error code of its own. */
#include "complete.h"
static weir_result fail(uint32_t* out_count UNUSED, weir_status* status) {
  status->vendor_code = 999;
  strcpy(status->vendor_name, "VENDOR_ERROR_UNKNOWN");
  return answer(status, WEIR_ERROR_UNKNOWN, "the vendor's runtime failed to start");
}
DRIVER("vendor-failure", table.device_count = fail)
