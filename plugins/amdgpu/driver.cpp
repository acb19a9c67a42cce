// SPDX-License-Identifier: Apache-2.0
// The entry point; the table and all that is around each call come from the SDK.
#include "hip.hpp"

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return weir::sdk::driver_entry<weir::sdk::vendor::Driver<weir::amdgpu::Hip>>(host, out_table, status);
}
