// SPDX-License-Identifier: Apache-2.0
// The entry point. The SDK provides the table and the common part of each call.
#include "cuda.hpp"

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return weir::sdk::driver_entry<weir::sdk::vendor::Driver<weir::cuda::Cuda>>(host, out_table, status);
}
