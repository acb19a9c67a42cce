// SPDX-License-Identifier: Apache-2.0
// Translation of HIP's results.
#include "hip.hpp"

namespace weir::amdgpu {
namespace {

constexpr sdk::vendor::VerdictRow own_results[] = {
    {invalid_configuration, {WEIR_ERROR_INVALID}},
    {invalid_pitch, {WEIR_ERROR_INVALID}},
    {invalid_device_pointer, {WEIR_ERROR_INVALID}},
    {invalid_device_function, {WEIR_ERROR_CODE_OBJECT}},
    {shared_object_init_failed, {WEIR_ERROR_CODE_OBJECT}},
    {not_initialized, {WEIR_ERROR_SYSTEM}},
    {insufficient_driver, {WEIR_ERROR_SYSTEM}},
    {illegal_state, {WEIR_ERROR_SYSTEM}},
    {runtime_memory, {WEIR_ERROR_OUT_OF_MEMORY}},  // of the HSA runtime below HIP
    {runtime_other, {WEIR_ERROR_DEVICE_LOST, true}},
};

}  // namespace

constinit const std::span<const sdk::vendor::VerdictRow> Hip::verdicts = own_results;

}  // namespace weir::amdgpu
