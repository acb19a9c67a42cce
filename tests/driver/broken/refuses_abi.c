/* SPDX-License-Identifier: Apache-2.0 */
/* Has no version in common, as a driver of ABI 2. */
#include "complete.h"
weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table UNUSED,
                              weir_status* status) {
  if (host->abi_max < WEIR_ABI_VERSION(2, 0))
    return answer(status, WEIR_ERROR_ABI, "this driver supports ABI 2.0");
  return WEIR_ERROR_UNKNOWN;
}
