// SPDX-License-Identifier: Apache-2.0
// What CUDA's results mean.
#include "cuda.hpp"

namespace weir::cuda {

sdk::vendor::Verdict Cuda::verdict(Code code) noexcept {
  switch (code) {
    case jit_compiler_not_found:
    case unsupported_ptx_version:
    case jit_compilation_disabled:
      return {WEIR_ERROR_CODE_OBJECT};
    case stub_library:
      return {WEIR_ERROR_NO_LIBRARY};
    case newer_driver_needed:
      return {WEIR_ERROR_UNSUPPORTED};
    case device_unavailable:
    case not_permitted:
    case system_not_ready:
    case system_driver_mismatch:
    case compat_not_supported:
      return {WEIR_ERROR_SYSTEM};
    case misaligned_address:
    case invalid_address_space:
      return {WEIR_ERROR_ILLEGAL_ADDRESS, true};
    case hardware_stack_error:
    case illegal_instruction:
    case invalid_pc:
    case tensor_memory_leak:
      return {WEIR_ERROR_LAUNCH, true};
    case nvlink_uncorrectable:
    case contained:
      return {WEIR_ERROR_DEVICE_LOST, true};
    default:
      return sdk::vendor::common_verdict(code);
  }
}

std::string Cuda::error_name(Code code) {
  const char* text = nullptr;
  return api.error_name && api.error_name(code, &text) == sdk::vendor::success && text ? text
                                                                                       : "an unknown error";
}

std::string Cuda::error_words(Code code) {
  const char* text = nullptr;
  return api.error_string && api.error_string(code, &text) == sdk::vendor::success && text
             ? text
             : "this version of CUDA has no words for it";
}

}  // namespace weir::cuda
