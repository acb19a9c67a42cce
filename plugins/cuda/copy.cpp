// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

namespace weir::cuda {

/// CUDA returns an error for ordinary memory.
bool Cuda::is_pinned(const void* memory) noexcept {
  unsigned type = 0;
  return api.pointer_attribute(&type, pointer_memory_type, reinterpret_cast<Address>(memory)) ==
         sdk::vendor::success;
}

}  // namespace weir::cuda
