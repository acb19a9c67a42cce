// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

namespace weir::cuda {

void Cuda::trim(Device& device) noexcept {
  if (device.data.pool) api.pool_trim(device.data.pool, 0);
}

}  // namespace weir::cuda
