// SPDX-License-Identifier: Apache-2.0
// The sizes of kernels' arguments, from a code object's metadata. HIP has no function that returns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace weir::amdgpu {

/// Bytes of each kernel's argument block, without the arguments that the runtime adds.
using KernelArguments = std::map<std::string, std::uint32_t, std::less<>>;

/// Reads the metadata note of an ELF file for AMD GPUs. Returns an empty map if it is missing or malformed,
/// in which case sizes are not checked. Never reads outside `image`.
KernelArguments read_kernel_arguments(std::span<const char> image);

}  // namespace weir::amdgpu
