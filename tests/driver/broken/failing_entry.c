/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
weir_result weir_driver_entry(const weir_host* host UNUSED, const weir_driver_table** out_table UNUSED,
                              weir_status* status) {
  return answer(status, WEIR_ERROR_SYSTEM, "no thread could be made");
}
