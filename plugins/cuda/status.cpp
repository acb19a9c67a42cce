// SPDX-License-Identifier: Apache-2.0
// Translation of CUDA's results.
#include "cuda.hpp"

namespace weir::cuda {
namespace {

constexpr sdk::vendor::VerdictRow own_results[] = {
    {jit_compiler_not_found, {WEIR_ERROR_CODE_OBJECT}},
    {unsupported_ptx_version, {WEIR_ERROR_CODE_OBJECT}},
    {jit_compilation_disabled, {WEIR_ERROR_CODE_OBJECT}},
    {stub_library, {WEIR_ERROR_NO_LIBRARY}},
    {newer_driver_needed, {WEIR_ERROR_UNSUPPORTED}},
    {device_unavailable, {WEIR_ERROR_SYSTEM}},
    {not_permitted, {WEIR_ERROR_SYSTEM}},
    {system_not_ready, {WEIR_ERROR_SYSTEM}},
    {system_driver_mismatch, {WEIR_ERROR_SYSTEM}},
    {compat_not_supported, {WEIR_ERROR_SYSTEM}},
    {misaligned_address, {WEIR_ERROR_ILLEGAL_ADDRESS, true}},
    {invalid_address_space, {WEIR_ERROR_ILLEGAL_ADDRESS, true}},
    {hardware_stack_error, {WEIR_ERROR_LAUNCH, true}},
    {illegal_instruction, {WEIR_ERROR_LAUNCH, true}},
    {invalid_pc, {WEIR_ERROR_LAUNCH, true}},
    {tensor_memory_leak, {WEIR_ERROR_LAUNCH, true}},
    {nvlink_uncorrectable, {WEIR_ERROR_DEVICE_LOST, true}},
    {contained, {WEIR_ERROR_DEVICE_LOST, true}},
};

}  // namespace

constinit const std::span<const sdk::vendor::VerdictRow> Cuda::verdicts = own_results;

std::string Cuda::error_name(Code code) {
  const char* text = nullptr;
  return api.error_name && api.error_name(code, &text) == sdk::vendor::success && text ? text
                                                                                       : "an unknown error";
}

std::string Cuda::error_text(Code code) {
  const char* text = nullptr;
  return api.error_string && api.error_string(code, &text) == sdk::vendor::success && text
             ? text
             : "this version of CUDA has no description for it";
}

}  // namespace weir::cuda
