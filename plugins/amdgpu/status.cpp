// SPDX-License-Identifier: Apache-2.0
// What HIP's results mean.
#include "hip.hpp"

namespace weir::amdgpu {

sdk::vendor::Verdict Hip::verdict(Code code) noexcept {
  switch (code) {
    case invalid_configuration:
    case invalid_pitch:
    case invalid_device_pointer:
      return {WEIR_ERROR_INVALID};
    case invalid_device_function:
    case shared_object_init_failed:
      return {WEIR_ERROR_CODE_OBJECT};
    case not_initialized:
    case insufficient_driver:
    case illegal_state:
      return {WEIR_ERROR_SYSTEM};
    case runtime_memory:  // of the HSA runtime below HIP
      return {WEIR_ERROR_OUT_OF_MEMORY};
    case runtime_other:
      return {WEIR_ERROR_DEVICE_LOST, true};
    default:
      return sdk::vendor::common_verdict(code);
  }
}

}  // namespace weir::amdgpu
